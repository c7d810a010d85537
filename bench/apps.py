"""The jobs that are measured, for a real worker. What they have to tell, they tell by files."""

import asyncio
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from tenure import Context, Pause, Tenure

app = Tenure()
FOLDER = Path(os.environ.get("BENCH_FOLDER", "."))

# A daemon as people write them: in a session of its own, with a parent that is gone.
_GRANDCHILD = (
    "import os, sys, time\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    "open(sys.argv[1], 'a').write(f'{os.getpid()}\\n')\n"
    "time.sleep(3600)\n"
)


def note(name: str, number: int) -> None:
    with (FOLDER / name).open("a") as file:
        file.write(f"{number}\n")


@app.task(name="noop")
async def noop(n: int) -> None:
    """Nothing."""


@app.task(name="noop_in_process")
def noop_in_process(n: int) -> None:
    """Nothing."""


@app.task(name="works_in_process")
def works_in_process(ms: int) -> None:
    """Take a while."""
    time.sleep(ms / 1000)


@app.task(name="where")
async def where() -> int:
    """In which process it runs."""
    return os.getpid()


@app.task(name="entered")
async def entered() -> int:
    """When it was entered; all processes of a machine share this clock."""
    return time.monotonic_ns()


@app.task(name="steps")
async def steps(ctx: Context, n: int, pauses: bool = False) -> float:
    """Step; how long that took."""
    began = time.monotonic()
    for _ in range(n):
        await ctx.step("one", _nothing)
    took = time.monotonic() - began
    if pauses and not ctx.checkpoint:
        await ctx.save_checkpoint(paused=True)
        await ctx.emit(took)
        raise Pause("to be resumed")
    return took


async def _nothing() -> None:
    """Nothing."""


@app.task(name="asks")
async def asks(ctx: Context) -> int:
    """When the answer was there."""
    await ctx.ask(bool, "Well?")
    return time.monotonic_ns()


@app.task(name="waits", retry=0)
async def waits(ctx: Context) -> None:
    """Notes when it was interrupted."""
    note(f"entered-{ctx.job.id}", time.monotonic_ns())
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        note(f"interrupted-{ctx.job.id}", time.monotonic_ns())
        raise


@app.task(name="runs_again")
async def runs_again(ctx: Context) -> None:
    """Notes every time it is entered, and in which process."""
    entered_at = time.monotonic_ns()
    note(f"pid-{ctx.job.id}", os.getpid())
    note(f"entered-{ctx.job.id}", entered_at)
    await asyncio.sleep(3600)


@app.task(name="hogs", retry=0)
def hogs(ctx: Context, grandchildren: int) -> None:
    """C code that keeps the interpreter's lock, with daemons of its own beside it."""
    pids = f"pid-{ctx.job.id}"
    for _ in range(grandchildren):
        command = [sys.executable, "-I", "-S", "-c", _GRANDCHILD, str(FOLDER / pids)]
        subprocess.run(command, check=True)  # noqa: S603
    note(pids, os.getpid())
    re.match(r"(a+)+b", "a" * 60)
