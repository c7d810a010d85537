"""Jobs to cancel through the service: cooperative, stubborn, untidy, and some with an undo."""

import asyncio
import time

from tenure import Context, Tenure
from tests.apps.cleaning import Noted
from tests.apps.stopping import NEVER, mark, started

app = Tenure()


@app.task(retry=0)
async def waits(ctx: Context) -> None:
    started(ctx)
    await asyncio.sleep(NEVER)


@app.task(retry=0)
def waits_in_a_process(ctx: Context) -> None:
    started(ctx)
    time.sleep(NEVER)


@app.task(retry=0)
def stubborn(ctx: Context) -> None:
    """Ignore every request to stop."""
    started(ctx)
    while True:
        try:
            time.sleep(NEVER)
        except BaseException:  # noqa: BLE001
            mark(f"ignored-{ctx.job.id}")


@app.task(retry=0)
async def untidy(ctx: Context) -> None:
    """Hold a resource that cannot be closed."""
    ctx.resources.add(Noted(ctx.job.id, "lock file", "fails"), timeout="100ms")
    started(ctx)
    await asyncio.sleep(NEVER)


@app.task(retry=0)
async def unbook(ctx: Context, what: str) -> None:
    mark("unbooked", what)


@app.task(retry=0, compensate=unbook)
async def book(ctx: Context, what: str) -> str:
    await ctx.artifact(f"{what}.txt", what)
    return what
