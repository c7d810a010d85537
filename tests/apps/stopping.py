"""Jobs that are stopped, in every way that is hard; for real workers.

Each notes what it has: its temporary directory, and the processes it started. A test that stopped
it looks whether anything of that is left.
"""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tenure import Context, Retry, Tenure
from tenure.runtime.resources import ResourceManager

app = Tenure()
FOLDER = Path(os.environ.get("TENURE_TEST_FOLDER", "."))
NEVER = 3600.0  # seconds; no test waits for their end


def mark(name: str, text: str = "") -> None:
    """Append a line to a file that the test looks at."""
    with (FOLDER / name).open("a") as file:
        file.write(f"{text}\n")


def started(ctx: Context, *pids: int) -> None:
    """Say what is there of this job, then that it runs."""
    for pid in pids:
        mark(f"pids-{ctx.job.id}", str(pid))
    folder = ctx.temp_dir()
    (folder / "file").write_text("something")
    mark(f"temp-{ctx.job.id}", str(folder))
    mark(f"started-{ctx.job.id}", str(ctx.attempt))


def hog() -> None:
    """C code that never lets the interpreter's lock go."""
    re.match(r"(a+)+b", "a" * 40)


def may_go_on(job: int) -> bool:
    return (FOLDER / f"go-on-{job}").exists()


@app.task
async def neighbour(ctx: Context) -> int:
    """Finishes by itself when the test says so."""
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
async def hogs_in_a_coroutine(ctx: Context) -> None:
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
    started(ctx)
    while True:
        try:
            await asyncio.sleep(NEVER)
        except asyncio.CancelledError:
            mark(f"swallowed-{ctx.job.id}")


@app.task(retry=0, close_timeout="300ms")
async def leaves_a_thread(ctx: Context) -> None:
    threading.Thread(target=time.sleep, args=(NEVER,), daemon=True).start()
    started(ctx)
    await asyncio.sleep(NEVER)


@app.task(retry=0, close_timeout="300ms")
async def waits_for_a_thread(ctx: Context) -> None:
    started(ctx)
    await asyncio.to_thread(time.sleep, NEVER)


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


# Functions.


@app.task(retry=0)
def sleeps(ctx: Context) -> None:
    started(ctx, os.getpid())
    time.sleep(NEVER)


@app.task(retry=0)
def hogs(ctx: Context) -> None:
    started(ctx, os.getpid())
    hog()


@app.task(retry=0)
def reads_a_socket(ctx: Context) -> None:
    ours, _theirs = socket.socketpair()
    started(ctx, os.getpid())
    ours.recv(1)


@app.task(retry=0)
def swallows_interrupts(ctx: Context) -> None:
    started(ctx, os.getpid())
    while True:
        try:
            time.sleep(NEVER)
        except BaseException:  # noqa: BLE001 - that is what it is about
            mark(f"swallowed-{ctx.job.id}")


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
    """A daemon: twice forked, in a session of its own, deaf to SIGTERM."""
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
    started(ctx, os.getpid())
    hog()


@app.task(retry=0)
def forks_without_end(ctx: Context) -> None:
    """At most 60 processes, for at most 10 s, each in a session of its own."""
    slots = FOLDER / f"storm-{ctx.job.id}"
    slots.mkdir()
    storm = subprocess.Popen([sys.executable, "-c", _STORM, slots])
    until = time.monotonic() + 8
    while len(list(slots.iterdir())) < 10 and time.monotonic() < until:
        time.sleep(0.01)
    started(ctx, os.getpid(), storm.pid)
    time.sleep(NEVER)


# Asked, and what they make of it.


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
    """Not impressed by any stop; it ends when the test says so."""
    started(ctx)
    while not may_go_on(ctx.job.id):
        try:
            await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            mark(f"swallowed-{ctx.job.id}")
    return "at last"


@app.task(retry=0)
def function_ends_when_it_may(ctx: Context) -> str:
    started(ctx)
    while not may_go_on(ctx.job.id):
        try:
            time.sleep(0.02)
        except asyncio.CancelledError:
            mark(f"swallowed-{ctx.job.id}")
    return "at last"


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
    """Goes on while they run."""
    children = [await ctx.aspawn(leaf), await ctx.aspawn(function_leaf)]
    mark(f"children-{ctx.job.id}", ",".join(str(child.id) for child in children))
    started(ctx)
    await asyncio.sleep(NEVER)


@app.task(retry=0)
async def waits_for_its_children(ctx: Context) -> None:
    """Gives its slot back while they run."""
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


# Limits.

SOON = Retry(max=1, base="1ms")


@app.task(retry=SOON, timeout="500ms", grace="1s")
async def too_slow(ctx: Context) -> None:
    started(ctx)
    await asyncio.sleep(NEVER)


@app.task(retry=SOON, timeout="500ms", grace="1s")
def function_too_slow(ctx: Context) -> None:
    started(ctx, os.getpid())
    time.sleep(NEVER)


@app.task(retry=SOON, timeout="500ms", grace="1s")
def hogs_too_long(ctx: Context) -> None:
    started(ctx, os.getpid())
    hog()


@app.task(retry=SOON, timeout="500ms", grace="1s")
async def hogs_too_long_in_a_coroutine(ctx: Context) -> None:
    started(ctx)
    hog()


@app.task(retry=SOON, timeout="1s")
async def in_time_the_second_time(ctx: Context) -> int:
    started(ctx)
    if ctx.attempt == 1:
        await asyncio.sleep(NEVER)
    return ctx.attempt


@app.task(retry=0, memory="150MB")
def eats_memory(ctx: Context) -> None:
    started(ctx, os.getpid())
    eaten = []
    until = time.monotonic() + 10
    while time.monotonic() < until and len(eaten) < 400:
        eaten.append(b"x" * 1_000_000)
        time.sleep(0.002)
    time.sleep(NEVER)


@app.task(retry=3, budget={"tokens": 100})
async def spends_too_much(ctx: Context) -> None:
    started(ctx)
    await ctx.emit({"said": "before the end"})
    ctx.spend(tokens=150)
    await asyncio.sleep(NEVER)


@app.task(retry=3, budget={"tokens": 100}, on_budget="pause")
def function_spends_too_much(ctx: Context) -> str:
    started(ctx, os.getpid())
    ctx.save_checkpoint(spent=True)
    ctx.emit({"said": "before the pause"})
    ctx.spend(tokens=150)
    time.sleep(NEVER)
    return "?"


@app.task(retry=0, budget={"tokens": 100}, last_rung="asked")
async def is_over_its_budget(ctx: Context) -> None:
    """Overspends, and goes on until it may end."""
    ctx.spend(tokens=150)
    await ctx.aflush()
    started(ctx)
    while not may_go_on(ctx.job.id):
        await asyncio.sleep(0.02)
    ctx.raise_if_cancelled()


@app.task(retry=0, cancel_pauses=True)
async def goes_on_from_its_checkpoint(ctx: Context) -> Any:
    if "page" in ctx.checkpoint:
        return ctx.checkpoint["page"]
    await ctx.save_checkpoint(page=7)
    started(ctx)
    await asyncio.sleep(NEVER)


# Hooks.


@app.task(retry=0)
async def hooked(ctx: Context, fails: bool) -> None:
    started(ctx)
    if fails:
        raise ValueError("no good")
    await asyncio.sleep(NEVER)


@hooked.on_cancel
async def _hooked_cancel(ctx: Context) -> None:
    await asyncio.sleep(0.01)
    mark(f"hook-{ctx.job.id}", f"cancel: {ctx.stop_reason}")


@hooked.on_failure
async def _hooked_failure(ctx: Context, error: BaseException) -> None:
    await asyncio.sleep(0.01)
    mark(f"hook-{ctx.job.id}", f"failure: {error}")


@app.task(retry=0)
def function_hooked(ctx: Context, fails: bool) -> None:
    started(ctx, os.getpid())
    if fails:
        raise ValueError("no good")
    time.sleep(NEVER)


@function_hooked.on_cancel
def _function_hooked_cancel(ctx: Context) -> None:
    mark(f"hook-{ctx.job.id}", f"cancel: {ctx.stop_reason}")


@function_hooked.on_failure
def _function_hooked_failure(ctx: Context, error: BaseException) -> None:
    mark(f"hook-{ctx.job.id}", f"failure: {error}")


@app.task(retry=0)
async def badly_hooked(ctx: Context) -> None:
    started(ctx)
    await asyncio.sleep(NEVER)


@badly_hooked.on_cancel
async def _badly_hooked_cancel(ctx: Context) -> None:
    mark(f"hook-{ctx.job.id}")
    raise RuntimeError("the hook is broken")


@app.task(retry=0)
def function_badly_hooked(ctx: Context) -> None:
    started(ctx, os.getpid())
    time.sleep(NEVER)


@function_badly_hooked.on_cancel
def _function_badly_hooked_cancel(ctx: Context) -> None:
    mark(f"hook-{ctx.job.id}")
    raise RuntimeError("the hook is broken")


@app.task(retry=Retry(max=2, base="1ms"))
async def fails_thrice(ctx: Context) -> None:
    raise ValueError(f"attempt {ctx.attempt}")


@fails_thrice.on_failure
def _fails_thrice_failure(ctx: Context, error: BaseException) -> None:
    mark(f"hook-{ctx.job.id}", f"failure: {error}")


@app.task(retry=0, timeout="300ms")
async def hooked_and_too_slow(ctx: Context) -> None:
    started(ctx)
    await asyncio.sleep(NEVER)


@hooked_and_too_slow.on_cancel
def _too_slow_cancel(ctx: Context) -> None:
    mark(f"hook-{ctx.job.id}", "cancel")


@hooked_and_too_slow.on_failure
def _too_slow_failure(ctx: Context, error: BaseException) -> None:
    mark(f"hook-{ctx.job.id}", f"failure: {error}")


# Resources.


class Noted(ResourceManager):
    """Closes, hangs or refuses, and notes each try."""

    def __init__(self, job: int, name: str, how: str) -> None:
        self.name = name
        self._job = job
        self._how = how

    async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:
        if self._how == "closes":
            mark(f"closed-{self._job}", self.name)
            return True
        await asyncio.sleep(NEVER)
        return True

    async def force_close(self) -> None:
        if self._how == "fails":
            raise RuntimeError("it is stuck")
        mark(f"closed-{self._job}", f"{self.name} by force")

    def is_active(self) -> bool:
        return True


@app.task(retry=Retry(max=3, base="10ms"))
async def closes_again(thing: str) -> str:
    mark(f"closed-again-{thing}")
    return thing


def _register(ctx: Context, fails: bool) -> None:
    job = ctx.job.id
    ctx.resources.add(Noted(job, "good", "closes"))
    ctx.resources.add(Noted(job, "slow", "hangs"), timeout="200ms")
    if fails:
        ctx.resources.add(
            Noted(job, "bad", "fails"),
            timeout="100ms",
            again=(closes_again, {"thing": f"{job}"}),
        )


@app.task(retry=0)
async def has_resources(ctx: Context, how: str = "wait", fails: bool = False) -> None:
    _register(ctx, fails)
    await ctx.emit({"page": 1})
    ctx.progress(1, 2, "in the middle")
    started(ctx)
    if how == "fail":
        raise ValueError("no good")
    if how == "wait":
        await asyncio.sleep(NEVER)


@app.task(retry=0)
def function_has_resources(ctx: Context, how: str = "wait", fails: bool = False) -> None:
    _register(ctx, fails)
    ctx.emit({"page": 1})
    ctx.progress(1, 2, "in the middle")
    started(ctx, os.getpid())
    if how == "fail":
        raise ValueError("no good")
    if how == "wait":
        time.sleep(NEVER)


# Output.

says_hello = app.command(
    "says_hello", [sys.executable, "-c", "import sys; print('hello', sys.argv[1])", "{name}"]
)
exits_with = app.command(
    "exits_with",
    [sys.executable, "-c", "import sys; print('on its way'); sys.exit(int(sys.argv[1]))", "{code}"],
    retry=0,
)
cannot_start = app.command("cannot_start", ["/nowhere/at/all"], retry=0)

_PROGRAM = """
import os, subprocess, sys, time
child = subprocess.Popen(["sleep", "3600"], start_new_session=True)
with open(sys.argv[1], "a") as file: file.write(f"{os.getpid()}\\n{child.pid}\\n")
print("the program runs", flush=True)
open(sys.argv[2], "w").close()
if sys.argv[3] == "deaf":
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(3600)
"""
runs_on = app.command(
    "runs_on", [sys.executable, "-c", _PROGRAM, "{pids}", "{started}", "{ears}"], retry=0
)


@app.task(retry=0)
def prints_and_its_child_too(ctx: Context) -> None:
    print("from the function")
    subprocess.run(["sh", "-c", "echo from the child; echo and its errors >&2"], check=True)
    os.write(1, b"past python\n")
    sys.stdout.write("an unfinished line")
    sys.stdout.flush()


@app.task(retry=0)
async def its_child_prints(ctx: Context) -> None:
    print("from the coroutine")
    process = await asyncio.create_subprocess_exec("echo", "from the child")
    await process.wait()


@app.task(retry=0)
def prints_a_million_lines(ctx: Context) -> str:
    for number in range(1_000_000):
        sys.stdout.write(f"line {number}\n")
    return "not blocked"


@app.task(retry=0)
async def prints_a_million_lines_async(ctx: Context) -> str:
    for number in range(1_000_000):
        sys.stdout.write(f"line {number}\n")
        if number % 10_000 == 0:
            await asyncio.sleep(0)
    return "not blocked"


@app.task(retry=0)
async def blocks_for_a_while(ctx: Context, seconds: float) -> str:
    _this_is_where_it_blocks(seconds)
    return "went on"


def _this_is_where_it_blocks(seconds: float) -> None:
    time.sleep(seconds)
