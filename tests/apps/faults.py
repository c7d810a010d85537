"""Jobs that change the process they run in: they fork, exit, stop the loop, leave things behind."""

import asyncio
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from tenure import Context, Tenure
from tenure.errors import InputRefused

app = Tenure()
FOLDER = Path(os.environ.get("TENURE_TEST_FOLDER", "."))


library: subprocess.Popen[bytes] | None = None
# As libraries do that report to somebody; such an app cannot be forked.
if {"TENURE_RUNNER", "TENURE_TEST_LIBRARY"} <= os.environ.keys():
    threading.Thread(target=time.sleep, args=(3600,), name="library", daemon=True).start()
    library = subprocess.Popen(["/bin/sleep", "3600"])


def mark(name: str, text: str = "") -> None:
    """Append a line to a file that the test looks at."""
    with (FOLDER / name).open("a") as file:
        file.write(f"{text}\n")


@app.task(retry=0)
async def neighbour(ctx: Context) -> list[int]:
    """In which processes it was, until the test lets it go."""
    pids = {os.getpid()}
    mark(f"started-{ctx.job.id}")
    while not (FOLDER / f"go-{ctx.job.id}").exists():
        await asyncio.sleep(0.005)
        mark(f"pids-{ctx.job.id}", str(os.getpid()))
    pids.update(map(int, (FOLDER / f"pids-{ctx.job.id}").read_text().split()))
    return sorted(pids)


@app.task
def pid() -> int:
    return os.getpid()


# Forks.


def _exit_code(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _fork(ctx: Context, how: str) -> Any:
    """The child comes back from here as if it were the job; the parent sees how it ended."""
    child = os.fork()
    if child:
        return _exit_code(child)
    match how:
        case "return":
            return "child"
        case "raise":
            raise ValueError("in the child")
        case "exit":
            sys.exit(7)
        case "speak":
            try:
                ctx.emit("from the child")
            except InputRefused:
                sys.exit(8)
    raise AssertionError(how)


@app.task(retry=0)
def forks(ctx: Context, how: str) -> Any:
    return _fork(ctx, how)


@app.task(retry=0)
async def forks_async(ctx: Context, how: str) -> Any:
    return _fork(ctx, how)


@app.task(retry=0, executor="thread")
def forks_thread(ctx: Context, how: str) -> Any:
    return _fork(ctx, how)


@app.task(retry=0)
async def forks_in_a_thread(ctx: Context, how: str) -> Any:
    return await asyncio.to_thread(_fork, ctx, how)


@app.task(retry=0)
async def forks_in_a_task(ctx: Context, how: str) -> Any:
    async def fork() -> Any:
        await asyncio.sleep(0)
        return _fork(ctx, how)

    return await asyncio.create_task(fork())


@app.task(retry=0)
async def forks_in_a_callback() -> Any:
    loop = asyncio.get_running_loop()
    forked: asyncio.Future[int] = loop.create_future()

    def fork() -> None:
        if child := os.fork():
            forked.set_result(child)

    loop.call_soon(fork)
    return await asyncio.to_thread(_exit_code, await forked)


@app.task(retry=0)
def forks_in_its_hook() -> None:
    raise ValueError("for the hook")


@app.task(retry=0)
async def forks_in_its_hook_async() -> None:
    raise ValueError("for the hook")


@forks_in_its_hook_async.on_failure
@forks_in_its_hook.on_failure
def _fork_in_a_hook(ctx: Context, _error: BaseException) -> None:
    if child := os.fork():
        mark(f"hook-{ctx.job.id}", str(_exit_code(child)))


def _answer(pipe: Any) -> None:
    logging.getLogger("child").warning("logged by a child")
    print("printed by a child", flush=True)
    pipe.send("from a child")


def _children() -> list[Any]:
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    process = fork.Process(target=_answer, args=(theirs,))
    process.start()
    heard = ours.recv()
    process.join()
    shouted = subprocess.run(
        ["/bin/echo", "hello"], stdout=subprocess.PIPE, check=True, preexec_fn=os.getpid
    )
    wire = os.system("test -e /proc/self/fd/3")
    return [heard, process.exitcode, shouted.stdout.decode().strip(), wire != 0]


@app.task(retry=0)
def has_children() -> list[Any]:
    return _children()


@app.task(retry=0)
async def has_children_async() -> list[Any]:
    return _children()


# Loops.


@app.task(retry=0)
async def stops_its_loop() -> str:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0)
    return "stopped"


@app.task(retry=0)
async def closes_its_loop() -> None:
    asyncio.get_running_loop().close()


@app.task(retry=0)
async def exits_in_a_callback() -> str:
    asyncio.get_running_loop().call_soon(sys.exit, 3)
    await asyncio.sleep(0.05)
    return "still here"


@app.task(retry=0)
async def replaces_the_task_factory() -> None:
    asyncio.get_running_loop().set_task_factory(
        lambda loop, coroutine, **options: asyncio.Task(coroutine, loop=loop, **options)
    )


@app.task(retry=0)
async def leaves_a_task() -> None:
    left = asyncio.create_task(asyncio.sleep(1), name="left alone")
    asyncio.get_running_loop().call_later(2, left.cancelled)  # keep a reference to it


async def _raise(how: str) -> None:
    """At once, after a wait, or out of its own cancellation."""
    try:
        if how != "at once":
            await asyncio.sleep(0 if how == "later" else 3600)
    finally:
        sys.exit(3)


@app.task(retry=0)
async def exits_in_a_task(how: str) -> list[str]:
    task = asyncio.create_task(_raise(how))
    await asyncio.sleep(0.01)
    task.cancel()
    try:
        await task
    except RuntimeError as error:
        return [str(error), repr(error.__cause__)]
    return []


@app.task(retry=0)
async def is_interrupted_in_a_task() -> None:
    async def interrupt() -> None:
        raise KeyboardInterrupt("in a task")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(interrupt())


@app.task(retry=0)
async def exits_in_a_task_of_nobody() -> str:
    task = asyncio.create_task(_raise("at once"))
    await asyncio.sleep(0.01)
    return "done" if task.done() else "not yet"


# What is left behind.


@app.task(retry=0)
def leaves(what: str) -> int:
    if what == "thread":
        threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
    elif what == "process":
        subprocess.Popen(["/bin/sleep", "3600"])
    return os.getpid()


@app.task(retry=0, grace="1s", ask_for="100ms", last_rung="terminated")
def outlives_its_interrupt(ctx: Context) -> list[int | None]:
    """How its own process and that of the library are, when it was terminated."""
    with ctx.shield():
        own = subprocess.Popen(["/bin/sleep", "3600"])
        mark(f"started-{ctx.job.id}")
        mark(f"ended-{ctx.job.id}", f"{own.wait()} {library and library.poll()}")
    return []


variable = ContextVar("variable", default="clean")
SIGNALS = (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGCHLD)
TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)


def _ignore(*_: Any) -> None:
    return


@app.task(retry=0)
def surroundings() -> dict[str, Any]:
    return _surroundings()


def _surroundings() -> dict[str, Any]:
    """All that a job before this one could have changed."""
    umask = os.umask(0)
    os.umask(umask)
    return {
        "pid": os.getpid(),
        "variable": variable.get(),
        "timers": [signal.getitimer(timer)[0] > 0 for timer in TIMERS],
        "signals": [repr(signal.getsignal(number)) for number in SIGNALS],
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "folder": str(Path.cwd()),
        "umask": umask,
        "environment": dict(os.environ),
    }


@app.task(retry=0)
def changes_its_surroundings() -> dict[str, Any]:
    variable.set("dirty")
    for number in (*SIGNALS, signal.SIGVTALRM, signal.SIGPROF):
        signal.signal(number, _ignore)
    for timer in TIMERS:
        signal.setitimer(timer, 60)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    os.chdir("/")
    os.umask(0o77)
    os.environ["TENURE_TEST_NEW"] = "new"
    os.environ["TENURE_TEST_FOLDER"] = "changed"
    del os.environ["PATH"]
    return _surroundings()


@app.task(retry=0)
def sleeps(ctx: Context) -> None:
    mark(f"started-{ctx.job.id}")
    time.sleep(3600)


# Interrupts.


@app.task(retry=0, ask_for="100ms", grace="10s")
async def speaks_slowly(ctx: Context, how: str) -> None:
    """Half a frame, then, when an interrupt is for it, some time, then the other half."""
    link: Any = ctx._attempt.link
    handler: Any = signal.getsignal(signal.SIGUSR1)
    shared = handler.__self__._shared
    transport = link._channel._transport
    write = transport.write

    def write_slowly(frame: bytes) -> None:
        del transport.write
        write(frame[:5])
        mark(f"started-{ctx.job.id}")
        _wait_until(lambda: shared.interrupt_target != 0)
        until = time.monotonic() + 0.2
        _wait_until(lambda: time.monotonic() > until)
        write(frame[5:])
        mark(f"written-{ctx.job.id}")

    transport.write = write_slowly
    if how == "emit":
        await ctx.emit("slowly")
    else:
        await ctx._attempt.arequest("flush")
    while True:
        time.sleep(0.01)


def _wait_until(look: Callable[[], bool]) -> None:
    while not look():
        time.sleep(0.001)
