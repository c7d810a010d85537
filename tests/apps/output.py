"""Programs, and jobs that print."""

import asyncio
import os
import subprocess
import sys
import time

from tenure import Context, Tenure

app = Tenure()

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
with open(sys.argv[1], "a") as file: print(os.getpid(), child.pid, sep="\\n", file=file)
print("the program runs", flush=True)
if sys.argv[3] == "deaf":
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
open(sys.argv[2], "w").close()
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
    return "continued"


def _this_is_where_it_blocks(seconds: float) -> None:
    time.sleep(seconds)


@app.task(retry=0)
async def is_busy_but_turns(ctx: Context, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        await asyncio.sleep(0)
