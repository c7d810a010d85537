"""Functions that harm the process they run in, or leave something behind in it."""

import os
import subprocess
import sys
import time
from pathlib import Path

from tenure import Context, Tenure
from tests.runtime.half_dead import WRITER

app = Tenure()
FOLDER = Path(os.environ.get("TENURE_TEST_FOLDER", "."))
NEVER = 3600.0  # seconds; no test waits for their end


def mark(name: str, text: str = "") -> None:
    """Append a line to a file that the test looks at."""
    with (FOLDER / name).open("a") as file:
        file.write(f"{text}\n")


def started(ctx: Context) -> None:
    mark(f"runner-{ctx.job.id}", str(os.getpid()))
    mark(f"started-{ctx.job.id}", str(ctx.attempt))


@app.task(retry=0)
def quick() -> int:
    return os.getpid()


# Processes whose main thread has ended.


@app.task(retry=0)
def starts_a_writer(ctx: Context, how: str, ends: bool) -> None:
    """Start a process that writes on after its main thread has ended; as a child or a daemon."""
    place = FOLDER / f"lines-{ctx.job.id}"
    command = [sys.executable, "-ISc", WRITER, str(place)]
    if how == "child":
        subprocess.Popen(command)
    elif os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv(sys.executable, command)
        os._exit(0)
    while not place.exists():
        time.sleep(0.005)
    started(ctx)
    if not ends:
        time.sleep(NEVER)
