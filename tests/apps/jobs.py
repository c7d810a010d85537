"""Jobs of every kind, good and bad, for real workers.

Each says that it runs by making the file named `started`, so that a test never has to guess.
"""

import asyncio
import gc
import io
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

from tenure import Context, Discard, Pause, Retry, Snooze, Tenure

app = Tenure()
FOLDER = Path(os.environ.get("TENURE_TEST_FOLDER", "."))


def mark(name: str, text: str = "") -> None:
    """Append a line to a file that the test looks at."""
    with (FOLDER / name).open("a") as file:
        file.write(f"{text}\n")


class SlowFile(io.BytesIO):
    """Takes its time to be read, so that its writer is still at it when the job returns."""

    def read(self, size: int | None = -1) -> bytes:
        time.sleep(0.2)
        return super().read(size)


@app.task
async def noop() -> None:
    return None


@app.task
async def echo(value: Any) -> Any:
    return value


@app.task
async def rhythm_of_the_collector() -> int:
    return gc.get_threshold()[0]


# The same job for every executor.


@app.task(retry=0)
async def all_async(ctx: Context, how: str) -> Any:
    return await _all_async(ctx, how)


async def _all_async(ctx: Context, how: str) -> Any:
    match how:
        case "wait":
            await ctx.artifact("draft.txt", "half")
            mark(f"started-{ctx.job.id}")
            await asyncio.sleep(3600)
        case "spawn":
            child = await ctx.aspawn(echo, "from child")
            return await ctx.await_for([child])
        case "no such pool":
            async with ctx.slot("boats") as boat:
                return boat
        case "slot":
            async with ctx.slot("beds") as bed:
                return bed
        case "emit":
            await ctx.emit({"page": 1})
            await ctx.save_checkpoint(page=1)
        case "flush":
            ctx.progress(1, 2, "half")
            await ctx.aflush()
            mark(f"flushed-{ctx.job.id}")
            await asyncio.sleep(3600)
    return _common(ctx, how)


@app.task(retry=0)
def all_process(ctx: Context, how: str) -> Any:
    return _all_plain(ctx, how)


@app.task(retry=0, executor="thread")
def all_thread(ctx: Context, how: str) -> Any:
    return _all_plain(ctx, how)


def _all_plain(ctx: Context, how: str) -> Any:
    match how:
        case "wait":
            ctx.artifact("draft.txt", "half")
            mark(f"started-{ctx.job.id}")
            while True:
                ctx.raise_if_cancelled()
                time.sleep(0.01)
        case "spawn":
            child = ctx.spawn(echo, "from child")
            return ctx.wait_for([child])
        case "no such pool":
            with ctx.slot("boats") as boat:
                return boat
        case "slot":
            with ctx.slot("beds") as bed:
                return bed
        case "emit":
            ctx.emit({"page": 1})
            ctx.save_checkpoint(page=1)
        case "flush":
            ctx.progress(1, 2, "half")
            ctx.flush()
            mark(f"flushed-{ctx.job.id}")
            while True:
                ctx.raise_if_cancelled()
                time.sleep(0.01)
    return _common(ctx, how)


def _common(ctx: Context, how: str) -> Any:
    match how:
        case "fail":
            raise ValueError("no good")
        case "exit":
            sys.exit(3)
        case "cancel itself":
            raise asyncio.CancelledError
        case "snooze":
            if (FOLDER / f"snoozed-{ctx.job.id}").exists():
                return "awake"
            mark(f"snoozed-{ctx.job.id}")
            raise Snooze("10ms")
        case "discard":
            raise Discard("bad input")
        case "pause":
            raise Pause("needs a human")
        case "print":
            print("to the log")
            print("to the log too", file=sys.stderr)
            ctx.log.warning("logged")
        case "artifact":
            ctx.artifact("pages/one.txt", "hello")
        case "slow artifact":
            ctx.artifact("pages/one.txt", SlowFile(b"hello"))
        case "temp":
            folder = ctx.temp_dir()
            (folder / "file").write_text("x")
            return str(folder)
        case "spend":
            ctx.spend(tokens=3)
        case "who":
            return [ctx.job.id, ctx.attempt, ctx.is_last_attempt, ctx.job.task, ctx.job.owner]
        case "not json":
            return {1, 2}
    return "done"


# Code that is hard to stop.


@app.task(retry=0)
async def sleeps_async(ctx: Context) -> None:
    mark(f"started-{ctx.job.id}")
    await asyncio.sleep(3600)


@app.task(retry=0)
async def blocks_its_loop(ctx: Context) -> None:
    mark(f"started-{ctx.job.id}")
    time.sleep(3600)


@app.task(retry=0)
async def hogs_in_a_coroutine(ctx: Context) -> None:
    mark(f"started-{ctx.job.id}")
    _hog()


@app.task(retry=0)
def sleeps(ctx: Context) -> None:
    mark(f"started-{ctx.job.id}")
    time.sleep(3600)


@app.task(retry=0)
def hogs(ctx: Context) -> None:
    mark(f"started-{ctx.job.id}")
    _hog()


def _hog() -> None:
    """C code that never lets the interpreter's lock go."""
    re.match(r"(a+)+b", "a" * 40)


@app.task(retry=0)
def reads_a_socket(ctx: Context) -> None:
    ours, _theirs = socket.socketpair()
    mark(f"started-{ctx.job.id}")
    ours.recv(1)


_GRANDCHILD = (
    "import os, sys, time\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    "open(sys.argv[1], 'a').write(f'{os.getpid()}\\n')\n"
    "time.sleep(3600)\n"
)


def _start_grandchild(job: int) -> None:
    subprocess.run([sys.executable, "-c", _GRANDCHILD, FOLDER / f"grandchild-{job}"], check=True)


@app.task(retry=0)
def has_a_grandchild(ctx: Context) -> None:
    _start_grandchild(ctx.job.id)
    mark(f"started-{ctx.job.id}")
    _hog()


@app.task(retry=0)
async def has_a_grandchild_async(ctx: Context) -> None:
    _start_grandchild(ctx.job.id)
    mark(f"started-{ctx.job.id}")
    await asyncio.sleep(3600)


@app.task(retry=0)
async def swallows_cancellation(ctx: Context) -> None:
    mark(f"started-{ctx.job.id}")
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            mark(f"swallowed-{ctx.job.id}")


@app.task(retry=0)
async def leaves_a_thread(ctx: Context) -> str:
    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
    mark(f"started-{ctx.job.id}")
    return "left"


# Code that dies.


@app.task(retry=Retry(max=2, base="1ms"))
def kills_itself(ctx: Context) -> None:
    mark(f"ran-{ctx.job.id}")
    os.kill(os.getpid(), signal.SIGKILL)


@app.task(retry=Retry(max=2, base="1ms"))
async def kills_itself_async(ctx: Context) -> None:
    mark(f"ran-{ctx.job.id}")
    os.kill(os.getpid(), signal.SIGKILL)


@app.task
async def counts_runs(ctx: Context, seconds: float) -> int:
    """Says each time it runs, so that a test sees whether it ran twice."""
    mark(f"ran-{ctx.job.id}", str(ctx.attempt))
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        await asyncio.sleep(0.05)
    return ctx.attempt


# Transactions and rollback.


@app.task(retry=0)
async def writes_async(ctx: Context, how: str) -> str:
    async with ctx.transaction() as transaction:
        await transaction.connection.execute("INSERT INTO written (job) VALUES (%s)", (ctx.job.id,))
        transaction.complete("committed")
        if how == "fail":
            raise ValueError("rolled back")
        if how == "wait":
            mark(f"started-{ctx.job.id}")
            await asyncio.sleep(3600)
    return "too late"


@app.task(retry=0)
def writes(ctx: Context, how: str) -> str:
    with ctx.transaction() as transaction:
        transaction.connection.execute("INSERT INTO written (job) VALUES (%s)", (ctx.job.id,))
        transaction.complete("committed")
        if how == "fail":
            raise ValueError("rolled back")
        if how == "hog":
            mark(f"started-{ctx.job.id}")
            _hog()
    return "too late"


@app.task(retry=0)
async def speaks_around_its_commit(ctx: Context, words: int) -> str:
    async with ctx.transaction() as transaction:
        transaction.complete("committed")
        for word in range(words):
            ctx.emit(word)
    ctx.emit("too late")
    ctx.log.info("too late")
    return "too late"


@app.task(retry=0)
async def waits_to_go(ctx: Context) -> str:
    mark(f"started-{ctx.job.id}")
    while not (FOLDER / f"go-{ctx.job.id}").exists():
        await asyncio.sleep(0.05)
    return "gone"


@app.task
async def unbook(seat: int, result: str) -> None:
    mark("unbooked", f"{seat} {result}")


@app.task(compensate=unbook)
async def book(seat: int) -> str:
    return f"seat {seat}"


@app.task(retry=0)
async def trip(ctx: Context) -> None:
    for seat in (1, 2):
        child = await ctx.aspawn(book, seat)
        await child.aresult(timeout="20s")
    mark(f"started-{ctx.job.id}")
    await asyncio.sleep(3600)
