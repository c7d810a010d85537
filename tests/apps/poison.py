"""Jobs that attack the worker that runs them, and ordinary jobs next to them.

Each writes a line into `ran-<id>` whenever it starts, as those of `dying` do.
"""

import asyncio
import os
import signal
import time
from pathlib import Path

from tenure import Context, Retry, Tenure
from tests.apps.dying import begin, may_go

app = Tenure()
TWICE = Retry(max=2, base="1ms")


def guard() -> int:
    """Return the pid of the guard, which is the parent of every runner."""
    return os.getppid()


def keeper() -> int:
    status = Path(f"/proc/{guard()}/stat").read_text()
    return int(status.rpartition(")")[2].split()[1])


def strike(ctx: Context, pid: int, number: signal.Signals) -> None:
    begin(ctx)
    os.kill(pid, number)


@app.task(retry=TWICE)
def kills_the_guard(ctx: Context) -> None:
    strike(ctx, guard(), signal.SIGKILL)
    time.sleep(3600)


@app.task(retry=TWICE)
async def kills_the_guard_async(ctx: Context) -> None:
    strike(ctx, guard(), signal.SIGKILL)
    await asyncio.sleep(3600)


@app.task(retry=TWICE, executor="thread")
def kills_the_guard_in_a_thread(ctx: Context) -> None:
    strike(ctx, guard(), signal.SIGKILL)
    time.sleep(3600)


@app.task(retry=TWICE)
def freezes_the_guard(ctx: Context) -> None:
    strike(ctx, guard(), signal.SIGSTOP)
    time.sleep(3600)


@app.task(retry=TWICE)
def kills_the_keeper(ctx: Context) -> None:
    strike(ctx, keeper(), signal.SIGKILL)
    time.sleep(3600)


@app.task(retry=0)
async def lasts(ctx: Context, seconds: float) -> int:
    begin(ctx)
    await asyncio.sleep(seconds)
    return ctx.attempt


@app.task(retry=0)
def lasts_in_a_process(ctx: Context, seconds: float) -> int:
    begin(ctx)
    time.sleep(seconds)
    return ctx.attempt


@app.task(retry=0)
async def waits(ctx: Context) -> int:
    """Until the test lets it go."""
    begin(ctx)
    while not may_go(ctx):
        await asyncio.sleep(0.02)
    return ctx.attempt
