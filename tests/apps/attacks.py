"""Jobs that would harm their worker, their runner or their neighbours if they could."""

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

from tenure import Context, Pause, Retry, Snooze, Tenure

app = Tenure()
FOLDER = Path(os.environ.get("TENURE_TEST_FOLDER", "."))
NUL = "before\0after"
SURROGATE = "before\ud800after"
HUGE_INTEGER = 1 << 70


def started(ctx: Context) -> None:
    (FOLDER / f"started-{ctx.job.id}").touch()


@app.task(retry=0)
async def noop() -> str:
    return "fine"


@app.task(retry=0)
async def pauses_with(text: str) -> None:
    raise Pause(NUL if text == "nul" else SURROGATE)


@app.task(retry=0)
async def pauses_with_no_text() -> None:
    raise Pause(5)  # type: ignore[arg-type]


@app.task(retry=0)
async def snoozes_for_ever() -> None:
    raise Snooze(timedelta.max)


class Unclosable:
    async def aclose(self) -> None:
        raise RuntimeError(NUL)


@app.task(retry=0)
async def cannot_clean_up(ctx: Context) -> None:
    ctx.resources.add(Unclosable())


@app.task(retry=0)
async def says(ctx: Context, text: str) -> str:
    """Beside what can be kept, something that cannot."""
    bad = NUL if text == "nul" else SURROGATE
    ctx.emit({"page": 1})
    ctx.save_checkpoint(page=1)
    print(bad)
    ctx.log.warning("%s", bad)
    ctx.progress(1, 2, bad)
    return "said"


@app.task(retry=0)
def says_in_a_process(ctx: Context, text: str) -> str:
    bad = NUL if text == "nul" else SURROGATE
    ctx.emit({"page": 1})
    ctx.save_checkpoint(page=1)
    ctx.log.warning("%s", bad)
    ctx.progress(1, 2, bad)
    return "said"


@app.task(retry=0)
async def counts_too_far(ctx: Context) -> str:
    ctx.emit({"page": 1})
    ctx.progress(HUGE_INTEGER)
    return "counted"


@app.task(retry=Retry(max=1, base="1ms"))
async def saves_a_huge_integer(ctx: Context) -> int:
    if ctx.attempt == 1:
        await ctx.save_checkpoint(n=HUGE_INTEGER)
        raise ValueError("again")
    return int(str(ctx.checkpoint["n"])) - HUGE_INTEGER


@app.task(retry=0)
async def returns_its_argument(value: object) -> object:
    return value


@app.task(retry=0)
def leaves_a_flood(ctx: Context) -> str:
    """A process that writes to the runner's output for ever."""
    subprocess.Popen(["yes", "flood"])
    time.sleep(0.2)
    return "left"


@app.task(retry=0)
def works(ctx: Context) -> None:
    started(ctx)
    time.sleep(3600)


@app.task(retry=Retry(max=1, base="1ms"))
def emits_and_dies(ctx: Context) -> str:
    if ctx.attempt > 1:
        return "survived"
    for page in range(20):
        ctx.emit({"page": page})
    ctx.save_checkpoint(page=19)
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


@app.task(retry=0)
async def replaces_its_output() -> str:
    sys.stdout = sys.stderr = None
    return "replaced"
