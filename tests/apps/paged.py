"""Jobs for the dashboard tests: some progress, some stop slowly, some leave output behind."""

import asyncio
import base64
import contextlib
import time
from typing import Any, Literal

from pydantic import BaseModel

from tenure import Context, Pause, Tenure
from tenure.resources import ResourceManager

app = Tenure()
NEVER = 3600.0  # seconds; no test waits for their end
DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


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


@app.task(retry=0)
async def stubborn_family(ctx: Context) -> None:
    """Spawn children, of which one receives every stop and keeps running."""
    for number in range(2):
        await ctx.aspawn(walk, label=f"child {number}")
    await ctx.aspawn(clings)
    await asyncio.sleep(NEVER)


class Verdict(BaseModel):
    ok: bool
    how: Literal["card", "voucher"]
    note: str = ""


@app.task(retry=0)
async def asks(ctx: Context) -> Any:
    """Do steps, ask a question, pause with the answer, and return what resumes it."""

    async def read(tokens: int) -> int:
        ctx.spend(tokens=tokens)
        return tokens

    for number in (3, 4):
        await ctx.step("read", read, number)
    verdict = await ctx.ask(Verdict, "Refund <i>it</i>?")
    if ctx.resume_value is None:
        raise Pause(f"{verdict.how}, {verdict.note}")
    return ctx.resume_value


@app.task
async def draws(ctx: Context) -> None:
    """Keep a page, an image and nothing else."""
    await ctx.artifact("page.html", "<script>alert(1)</script>")
    await ctx.artifact("dot.png", base64.b64decode(DOT))


@app.schedule("0 3 * * *", name="nightly", tz="Europe/Berlin", args={"message": "nightly"})
@app.task
async def report(ctx: Context, message: str = "") -> str:
    await ctx.artifact("report.txt", message)
    await ctx.emit({"half of it": message[: len(message) // 2]})
    return message
