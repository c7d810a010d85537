"""Jobs for the dashboard tests: some progress, some stop slowly, some leave output behind."""

import asyncio
import contextlib
import time

from tenure import Context, Tenure
from tenure.runtime.resources import ResourceManager

app = Tenure()
NEVER = 3600.0  # seconds; no test waits for their end


class Session(ResourceManager):
    name = "bank session"

    async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:
        await asyncio.sleep(min(0.01, timeout_seconds))
        return True

    async def force_close(self) -> None: ...

    def is_active(self) -> bool:
        return True


@app.task
async def walk(ctx: Context, steps: int = 100_000, pause: float = 0.1, label: str = "step") -> int:
    """Make small steps and report each as progress."""
    ctx.resources.add(Session())
    for step in range(steps):
        ctx.progress(step, steps, f"{label} {step}")
        if step % 10 == 0:
            ctx.log.info("%s %s of %s", label, step, steps)
        await asyncio.sleep(pause)
    return steps


@app.task(retry=0)
async def clings(ctx: Context) -> None:
    """Receive every stop and keep running."""
    ctx.log.warning("nobody stops me")
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(NEVER)


@app.task(retry=0)
def blocks(ctx: Context) -> None:
    """Block in one call forever."""
    ctx.log.info("about to block")
    time.sleep(NEVER)


@app.task(retry=0)
async def holds(ctx: Context) -> None:
    """Block the event loop forever."""
    ctx.log.info("about to block")
    await asyncio.sleep(0.1)  # for the log line to be sent
    time.sleep(NEVER)


@app.task(retry=0)
async def breaks(ctx: Context, message: str = "no good") -> None:
    ctx.log.error("about to break: %s", message)
    raise ValueError(message)


@app.task
async def family(ctx: Context, children: int = 3) -> None:
    """Spawn children and sleep while they run."""
    for number in range(children):
        await ctx.aspawn(walk, label=f"child {number}")
    await asyncio.sleep(NEVER)


@app.schedule("0 3 * * *", name="nightly", tz="Europe/Berlin", args={"message": "nightly"})
@app.task
async def report(ctx: Context, message: str = "") -> str:
    await ctx.artifact("report.txt", message)
    await ctx.emit({"half of it": message[: len(message) // 2]})
    return message
