"""Short jobs that use a habit, beside a long one."""

import asyncio
import inspect
import os
import time
from pathlib import Path

from tenure import Context, Retry, Tenure
from tests.apps.hostile import native_habits
from tests.apps.hostile.beats import EVERY, append
from tests.apps.hostile.habits import HABITS

assert native_habits  # imported so that its habits are in HABITS
app = Tenure()
RETRY = Retry(max=3, base="200ms")
FOLDER = Path(os.environ.get("TENURE_TEST_FOLDER", "."))


# Far longer than a job that waits for nothing takes to end, even on a busy machine.
CLOSE_TIMEOUT = "20s"


@app.task(retry=0, close_timeout=CLOSE_TIMEOUT)
async def uses(ctx: Context, habit: str, mark: str, stays: bool = False) -> str:
    used = HABITS[habit]()
    if inspect.isawaitable(used):
        await used
    (FOLDER / f"used-{mark}-{ctx.job.id}").touch()
    while stays:
        await asyncio.sleep(3600)
    return habit


@app.task(retry=0, executor="thread", close_timeout=CLOSE_TIMEOUT)
def uses_in_thread(ctx: Context, habit: str, mark: str, stays: bool = False) -> str:
    HABITS[habit]()
    (FOLDER / f"used-{mark}-{ctx.job.id}").touch()
    while stays:
        ctx.raise_if_cancelled()
        time.sleep(EVERY)
    return habit


@app.task(retry=RETRY)
async def long(ctx: Context, mark: str, seconds: float = 3600) -> int:
    """Run until the test allows its end, or for some seconds."""
    append(str(FOLDER / f"began-{mark}-{ctx.job.id}"), str(os.getpid()))
    until = time.monotonic() + seconds
    while time.monotonic() < until and not (FOLDER / mark).exists():
        await asyncio.sleep(EVERY)
    return ctx.attempt


@app.task(retry=RETRY, executor="thread")
def long_in_thread(ctx: Context, mark: str, seconds: float = 3600) -> int:
    append(str(FOLDER / f"began-{mark}-{ctx.job.id}"), str(os.getpid()))
    until = time.monotonic() + seconds
    while time.monotonic() < until and not (FOLDER / mark).exists():
        ctx.raise_if_cancelled()
        time.sleep(EVERY)
    return ctx.attempt
