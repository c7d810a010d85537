"""Jobs for workers that die, freeze, drain and lose their database.

Each writes a line into `ran-<id>` whenever it starts, so that a test sees how often it ran.
"""

import asyncio
import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tenure import Context, Retry, Snooze, Tenure
from tenure.control.task import Task

AnyTask = Task[..., Any]

app = Tenure()
scheduled = Tenure()
FOLDER = Path(os.environ.get("TENURE_TEST_FOLDER", "."))
SOON = Retry(max=2, base="1ms")


def mark(name: str, text: str = "") -> None:
    """Append a line to a file that the test looks at."""
    with (FOLDER / name).open("a") as file:
        file.write(f"{text}\n")


def begin(ctx: Context) -> bool:
    """Say that it runs, and how it is with the processes it ran in before; whether there are none.

    A line is: attempt, pid, and a letter for each process before, as the kernel has it; - is gone.
    """
    place = FOLDER / f"ran-{ctx.job.id}"
    before = place.read_text().splitlines() if place.exists() else []
    states = [_state(line.split()[1]) for line in before]
    mark(place.name, " ".join([str(ctx.attempt), str(os.getpid()), *states]))
    return not before


def _state(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "-"


def may_go(ctx: Context) -> bool:
    return (FOLDER / "go").exists() or (FOLDER / f"go-{ctx.job.id}").exists()


@app.task
async def quick(ctx: Context) -> int:
    return ctx.job.id


@app.task(retry=SOON)
async def waits(ctx: Context) -> int:
    """Until the test lets it go."""
    begin(ctx)
    while not may_go(ctx):
        await asyncio.sleep(0.02)
    return ctx.attempt


@app.task(retry=SOON)
def waits_in_a_process(ctx: Context) -> int:
    begin(ctx)
    while not may_go(ctx):
        time.sleep(0.02)
    return ctx.attempt


@app.task(retry=SOON)
async def sleeps_first(ctx: Context) -> int:
    """For ever the first time, not at all the second; once it is asleep, never on the CPU."""
    if begin(ctx):
        asyncio.get_running_loop().call_soon(mark, f"asleep-{ctx.job.id}")
        await asyncio.sleep(3600)
    return ctx.attempt


@app.task(retry=SOON)
def sleeps_first_in_a_process(ctx: Context) -> int:
    if begin(ctx):
        time.sleep(3600)
    return ctx.attempt


@app.task(retry=SOON)
async def computes_first(ctx: Context) -> int:
    """On the CPU for ever the first time, not at all the second."""
    if begin(ctx):
        while True:
            sum(range(1000))
    return ctx.attempt


@app.task(retry=SOON)
def segfaults_first(ctx: Context) -> int:
    if begin(ctx):
        ctypes.string_at(0)
    return ctx.attempt


@app.task(retry=SOON)
def kills_itself(ctx: Context) -> None:
    begin(ctx)
    os.kill(os.getpid(), signal.SIGKILL)


@app.task(retry=SOON)
async def kills_itself_async(ctx: Context) -> None:
    begin(ctx)
    os.kill(os.getpid(), signal.SIGKILL)


_GRANDCHILD = (
    "import os, sys, time\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    "open(sys.argv[1], 'a').write(f'{os.getpid()}\\n')\n"
    "time.sleep(3600)\n"
)


@app.task(retry=SOON)
def has_a_family(ctx: Context) -> int:
    """A grandchild in its own session and a temporary directory, the first time."""
    if begin(ctx):
        (ctx.temp_dir(sensitive=True) / "secret").write_text("secret")
        mark(f"temp-{ctx.job.id}", str(ctx.temp_dir()))
        place = FOLDER / f"grandchild-{ctx.job.id}"
        subprocess.run([sys.executable, "-c", _GRANDCHILD, place], check=True)
        time.sleep(3600)
    return ctx.attempt


@app.task(retry=SOON)
async def steps(ctx: Context, until: int) -> int:
    """One step every 20 ms, each with a checkpoint; the last one only when it may go."""
    begin(ctx)
    for step in range(int(ctx.checkpoint.get("done", 0)), until):
        mark(f"steps-{ctx.job.id}", str(step))
        await ctx.save_checkpoint(done=step + 1)
        await asyncio.sleep(0.02)
    while not may_go(ctx):
        await asyncio.sleep(0.02)
    return ctx.attempt


@app.task(retry=SOON)
async def lasts(ctx: Context, seconds: float) -> int:
    begin(ctx)
    await asyncio.sleep(seconds)
    mark(f"lasted-{ctx.job.id}")
    return ctx.attempt


@app.task(retry=SOON)
async def says_when_it_has_waited(ctx: Context) -> int:
    attempt: int = await waits(ctx)
    mark(f"waited-{ctx.job.id}")
    return attempt


@app.task(retry=SOON)
async def blocks_its_loop(ctx: Context, seconds: float) -> int:
    begin(ctx)
    time.sleep(seconds)
    return ctx.attempt


@app.task(retry=SOON)
def holds_the_lock(ctx: Context, seconds: float) -> int:
    """Of its interpreter: one call into C, as long as this machine makes of it."""
    begin(ctx)
    length, took = 16, 0.0
    while took < seconds:
        length += 1
        began = time.monotonic()
        re.match(r"(a+)+b", "a" * length)
        took = time.monotonic() - began
    return ctx.attempt


@app.task(retry=Retry(max=1, base="1s", jitter=0))
async def fails_first(ctx: Context) -> None:
    mark(f"moments-{ctx.job.id}", str(time.monotonic()))
    if begin(ctx):
        raise ValueError("not yet")


@app.task(retry=0)
async def snoozes_first(ctx: Context) -> None:
    mark(f"moments-{ctx.job.id}", str(time.monotonic()))
    if begin(ctx):
        raise Snooze("1s")


# An app of its own: every worker that has schedules enqueues them.


@scheduled.schedule("* * * * * *", overlap="skip", catch_up="1s", name="skipping")
@scheduled.task(retry=0)
async def skips(ctx: Context) -> None:
    begin(ctx)
    await asyncio.sleep(2.5)


@scheduled.schedule("* * * * * *", overlap="queue", catch_up="1s", name="queueing")
@scheduled.task(retry=0)
async def queues(ctx: Context) -> None:
    begin(ctx)


@scheduled.schedule("* * * * * *", overlap="replace", catch_up="1s", name="replacing")
@scheduled.task(retry=0, queue="later")
async def replaces(ctx: Context) -> None:
    begin(ctx)
