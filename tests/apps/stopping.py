"""Jobs that are hard to stop, each in its own way; for real workers.

Each job records its temporary directory and the processes it started. After the stop, the test
checks that nothing of either is left.
"""

import asyncio
import itertools
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path

from tenure import Context, Tenure

app = Tenure()
FOLDER = Path(os.environ.get("TENURE_TEST_FOLDER", "."))
NEVER = 3600.0  # seconds; no test waits for their end


def mark(name: str, text: str = "") -> None:
    """Append a line to a file that the test reads."""
    with (FOLDER / name).open("a") as file:
        file.write(f"{text}\n")


def started(ctx: Context, *pids: int) -> None:
    """Record the processes and files of this job, then that it runs."""
    for pid in pids:
        mark(f"pids-{ctx.job.id}", str(pid))
    folder = ctx.temp_dir()
    (folder / "file").write_text("something")
    mark(f"temp-{ctx.job.id}", str(folder))
    mark(f"runner-{ctx.job.id}", str(os.getpid()))
    mark(f"started-{ctx.job.id}", str(ctx.attempt))


def hog() -> None:
    """Run C code that never releases the interpreter's lock and never checks for signals."""
    deque(itertools.repeat(0), maxlen=0)


def may_go_on(job: int) -> bool:
    return (FOLDER / f"go-on-{job}").exists()


@app.task
async def neighbour(ctx: Context) -> int:
    """Finish when the test says so."""
    mark(f"started-{ctx.job.id}", str(ctx.attempt))
    while not (FOLDER / "neighbours-may-end").exists():
        await asyncio.sleep(0.02)
    return ctx.attempt


@app.task
async def quick(ctx: Context, seconds: float = 0) -> str:
    await asyncio.sleep(seconds)
    return "done"


@app.task
def quick_function(ctx: Context, seconds: float = 0) -> str:
    time.sleep(seconds)
    return "done"


# Coroutines.


@app.task(retry=0)
async def sleeps_async(ctx: Context) -> None:
    started(ctx)
    await asyncio.sleep(NEVER)


@app.task(retry=0)
async def blocks_its_loop(ctx: Context) -> None:
    started(ctx)
    time.sleep(NEVER)


@app.task(retry=0)
async def spins(ctx: Context) -> None:
    started(ctx)
    while True:
        pass


@app.task(retry=0)
async def matches_without_end(ctx: Context) -> None:
    """Hold the lock as well, but in code that checks for signals now and then."""
    started(ctx)
    re.match(r"(a+)+b", "a" * 40)


@app.task(retry=0)
async def hogs_in_a_coroutine(ctx: Context) -> None:
    with ctx.shield():  # a stop before the C code runs would be too easy
        started(ctx)
        hog()


@app.task(retry=0)
async def blocks_in_a_task(ctx: Context) -> None:
    async def block() -> None:
        started(ctx)
        time.sleep(NEVER)

    await asyncio.create_task(block())


@app.task(retry=0)
async def swallows_cancellation(ctx: Context) -> None:
    try:
        started(ctx)
        await asyncio.sleep(NEVER)
    except asyncio.CancelledError:  # sent only once
        mark(f"swallowed-{ctx.job.id}")
    await asyncio.sleep(NEVER)


@app.task(retry=0, close_timeout="300ms")
async def leaves_a_thread(ctx: Context) -> None:
    threading.Thread(target=time.sleep, args=(NEVER,), daemon=True).start()
    started(ctx)
    await asyncio.sleep(NEVER)


@app.task(retry=0, close_timeout="300ms")
async def talks_and_leaves_a_thread(ctx: Context) -> str:
    """Log more than is kept, so that a last line (how many were dropped) comes with the end."""
    threading.Thread(target=time.sleep, args=(NEVER,), daemon=True).start()
    started(ctx)
    for number in range(10_001):
        ctx.log.info("%d", number)
    return "left"


@app.task(retry=0, close_timeout="300ms")
async def waits_for_a_thread(ctx: Context) -> None:
    thread = asyncio.get_running_loop().run_in_executor(None, time.sleep, NEVER)
    started(ctx)
    await thread


@app.task(retry=0, close_timeout="300ms")
async def leaves_a_task(ctx: Context) -> None:
    async def stubborn() -> None:
        while True:
            try:
                await asyncio.sleep(NEVER)
            except asyncio.CancelledError:
                continue

    task = asyncio.create_task(stubborn())
    started(ctx)
    await asyncio.sleep(NEVER)
    del task


@app.task(retry=0)
async def is_cancelled_too_late(ctx: Context) -> str:
    """Cancel the own task with no await left: the cancel is still pending after the return."""
    started(ctx)
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    return "returned"


# Functions.


@app.task(retry=0)
def sleeps(ctx: Context) -> None:
    started(ctx, os.getpid())
    time.sleep(NEVER)


@app.task(retry=0)
def hogs(ctx: Context) -> None:
    with ctx.shield():
        started(ctx, os.getpid())
        hog()


@app.task(retry=0)
def function_matches_without_end(ctx: Context) -> None:
    started(ctx, os.getpid())
    re.match(r"(a+)+b", "a" * 40)


@app.task(retry=0)
def reads_a_socket(ctx: Context) -> None:
    ours, _theirs = socket.socketpair()
    started(ctx, os.getpid())
    ours.recv(1)


@app.task(retry=0)
def swallows_interrupts(ctx: Context) -> None:
    try:
        started(ctx, os.getpid())
        time.sleep(NEVER)
    except BaseException:  # noqa: BLE001 - that is what it is about
        mark(f"swallowed-{ctx.job.id}")
    time.sleep(NEVER)


@app.task(retry=0)
def function_leaves_a_thread(ctx: Context) -> None:
    threading.Thread(target=time.sleep, args=(NEVER,)).start()
    started(ctx, os.getpid())
    time.sleep(NEVER)


@app.task(retry=0)
def returns_with_a_thread(ctx: Context) -> str:
    threading.Thread(target=time.sleep, args=(NEVER,)).start()
    started(ctx, os.getpid())
    return "left"


@app.task(retry=0, executor="thread")
def thread_asks(ctx: Context) -> None:
    started(ctx)
    while True:
        ctx.raise_if_cancelled()
        time.sleep(0.01)


@app.task(retry=0, executor="thread")
def thread_sleeps(ctx: Context) -> None:
    started(ctx)
    time.sleep(NEVER)


# Processes of jobs.

_GRANDCHILD = """
import os, signal, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(sys.argv[1], "a") as file: file.write(f"{os.getpid()}\\n")
time.sleep(3600)
"""

_STORM = """
import os, sys, time
until = time.monotonic() + 10
slots = sys.argv[1]
def count():
    return len(os.listdir(slots))
while time.monotonic() < until and count() < 60:
    if os.fork() == 0:
        os.setsid()
        open(os.path.join(slots, str(os.getpid())), "w").close()
    time.sleep(0.03)
while time.monotonic() < until:
    time.sleep(0.1)
"""


def start_grandchild(job: int) -> None:
    """Start a daemon: forked twice, in its own session, ignoring SIGTERM."""
    noted = FOLDER / f"pids-{job}"
    subprocess.run([sys.executable, "-c", _GRANDCHILD, noted], check=True)
    until = time.monotonic() + 10
    while not (noted.exists() and noted.read_text()):
        assert time.monotonic() < until
        time.sleep(0.01)


@app.task(retry=0)
def has_a_grandchild(ctx: Context) -> None:
    start_grandchild(ctx.job.id)
    started(ctx, os.getpid())
    time.sleep(NEVER)


@app.task(retry=0)
async def has_a_grandchild_async(ctx: Context) -> None:
    await asyncio.to_thread(start_grandchild, ctx.job.id)
    started(ctx)
    await asyncio.sleep(NEVER)


@app.task(retry=0)
def hogs_with_a_grandchild(ctx: Context) -> None:
    start_grandchild(ctx.job.id)
    with ctx.shield():
        started(ctx, os.getpid())
        hog()


@app.task(retry=0)
def forks_without_end(ctx: Context) -> None:
    """Fork at most 60 processes, for at most 10 s, each in its own session."""
    slots = FOLDER / f"storm-{ctx.job.id}"
    slots.mkdir()
    storm = subprocess.Popen([sys.executable, "-c", _STORM, slots])
    until = time.monotonic() + 8
    while len(list(slots.iterdir())) < 10 and time.monotonic() < until:
        time.sleep(0.01)
    started(ctx, os.getpid(), storm.pid)
    time.sleep(NEVER)


# Jobs that are asked to stop.


@app.task(retry=0)
async def finishes_its_page(ctx: Context) -> list[int]:
    pages = []
    started(ctx)
    for page in range(10_000):
        await asyncio.sleep(0.05)
        pages.append(page)
        if ctx.cancelled:
            mark(f"heard-{ctx.job.id}", ctx.stop_reason or "")
            await ctx.emit({"pages": len(pages)})
            return pages
    return pages


@app.task(retry=0)
def function_finishes_its_page(ctx: Context) -> list[int]:
    pages = []
    started(ctx)
    for page in range(10_000):
        time.sleep(0.05)
        pages.append(page)
        if ctx.cancelled:
            mark(f"heard-{ctx.job.id}", ctx.stop_reason or "")
            ctx.emit({"pages": len(pages)})
            return pages
    return pages


@app.task(retry=0)
async def ends_when_it_may(ctx: Context) -> str:
    """Ignore the stop and end when the test says so."""

    async def wait() -> None:
        while not (may_go_on(ctx.job.id) and ctx.cancelled):
            await asyncio.sleep(0.02)

    try:
        started(ctx)
        await wait()
    except asyncio.CancelledError:
        mark(f"swallowed-{ctx.job.id}")
        await wait()
    return "at last"


@app.task(retry=0)
def function_ends_when_it_may(ctx: Context) -> str:
    def wait() -> None:
        while not (may_go_on(ctx.job.id) and ctx.cancelled):
            time.sleep(0.02)

    try:
        started(ctx)
        wait()
    except asyncio.CancelledError:
        mark(f"swallowed-{ctx.job.id}")
        wait()
    return "at last"


@app.task(retry=0)
async def never_listens(ctx: Context) -> str:
    started(ctx)
    while not may_go_on(ctx.job.id):
        await asyncio.sleep(0.02)
    return "done all the same"


@app.task(retry=0)
async def shields(ctx: Context) -> None:
    with ctx.shield():
        started(ctx)
        while not may_go_on(ctx.job.id):
            await asyncio.sleep(0.01)
        mark(f"shielded-{ctx.job.id}", "whole")
    await asyncio.sleep(NEVER)


@app.task(retry=0)
def function_shields(ctx: Context) -> None:
    with ctx.shield():
        started(ctx, os.getpid())
        while not may_go_on(ctx.job.id):
            time.sleep(0.01)
        mark(f"shielded-{ctx.job.id}", "whole")
    time.sleep(NEVER)


@app.task(retry=0)
async def shields_while_it_blocks(ctx: Context) -> None:
    with ctx.shield():
        started(ctx)
        until = time.monotonic() + 10
        while not may_go_on(ctx.job.id) and time.monotonic() < until:
            time.sleep(0.01)
        mark(f"shielded-{ctx.job.id}", "whole")
    await asyncio.sleep(NEVER)


# Trees.


@app.task(retry=0)
async def leaf(ctx: Context) -> None:
    started(ctx)
    await asyncio.sleep(NEVER)


@app.task(retry=0)
def function_leaf(ctx: Context) -> None:
    started(ctx, os.getpid())
    time.sleep(NEVER)


@app.task(retry=0)
async def runs_beside_its_children(ctx: Context) -> None:
    """Keep running while the children run."""
    children = [await ctx.aspawn(leaf), await ctx.aspawn(function_leaf)]
    mark(f"children-{ctx.job.id}", ",".join(str(child.id) for child in children))
    started(ctx)
    await asyncio.sleep(NEVER)


@app.task(retry=0)
async def waits_for_its_children(ctx: Context) -> None:
    """Release the slot while the children run."""
    children = [await ctx.aspawn(leaf), await ctx.aspawn(leaf)]
    mark(f"children-{ctx.job.id}", ",".join(str(child.id) for child in children))
    mark(f"started-{ctx.job.id}", str(ctx.attempt))
    await ctx.await_for(children)


@app.task(retry=0)
async def spawns_without_end(ctx: Context) -> None:
    mark(f"started-{ctx.job.id}")
    while True:
        await ctx.aspawn(quick, 0.05)


@app.task(retry=0)
def function_spawns_without_end(ctx: Context) -> None:
    mark(f"started-{ctx.job.id}")
    while True:
        ctx.spawn(quick, 0.05)
