"""Jobs to be looked into: each is somewhere, and stays there."""

import asyncio
import itertools
import os
import signal
import subprocess
import threading
import time
from collections import deque
from pathlib import Path

from tenure import Context, Tenure

app = Tenure()
FOLDER = Path(os.environ.get("TENURE_TEST_FOLDER", "."))
NEVER = 3600.0  # seconds; no test waits for their end


def started(ctx: Context) -> None:
    with (FOLDER / f"started-{ctx.job.id}").open("a") as file:
        file.write(f"{ctx.attempt}\n")


def hog() -> None:
    """C code that never lets the interpreter's lock go."""
    deque(itertools.repeat(0), maxlen=0)


def napping() -> None:
    time.sleep(NEVER)


async def waits(seconds: float) -> None:
    await asyncio.sleep(seconds)


@app.task(retry=0)
async def sleeps(ctx: Context, password: str = "") -> None:
    """Waits, with a task and a thread beside it."""
    beside = asyncio.create_task(waits(NEVER), name="beside")
    child = await asyncio.create_subprocess_exec("sleep", "3600")
    started(ctx)
    await asyncio.gather(beside, asyncio.to_thread(napping), child.wait())


@app.task(retry=0)
async def blocks(ctx: Context, password: str = "") -> None:
    started(ctx)
    time.sleep(NEVER)


@app.task(retry=0)
async def hogs_its_loop(ctx: Context) -> None:
    started(ctx)
    hog()


@app.task(retry=0)
def function(ctx: Context, password: str = "") -> None:
    threading.Thread(target=napping, name="beside", daemon=True).start()
    subprocess.Popen(["sleep", "3600"])
    started(ctx)
    time.sleep(NEVER)


@app.task(retry=0)
def function_hogs(ctx: Context) -> None:
    started(ctx)
    hog()


@app.task(retry=0)
def function_hogs_alone(ctx: Context) -> None:
    """Without the handler that would tell where it is."""
    signal.signal(signal.SIGUSR2, signal.SIG_DFL)
    started(ctx)
    hog()


@app.task(retry=0, executor="thread")
def thread(ctx: Context, password: str = "") -> None:
    started(ctx)
    time.sleep(NEVER)


@app.task(retry=0, executor="thread")
def thread_hogs(ctx: Context) -> None:
    started(ctx)
    hog()


program = app.command("program", ["sh", "-c", "sleep 3600 & sleep 3600; true"], retry=0)
