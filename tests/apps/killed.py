"""Jobs that kill their own process at the next statement of the code that keeps a step.

An attempt dies at statement 1 of its steps, the next one at statement 2 of its own, and so on,
until there are no more statements: then a step has been killed at each of them.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from tenure import Context, Tenure
from tenure.runtime import steps

app = Tenure()
CODE = str(Path(steps.__file__).parent)


class Killer:
    """Kill this process at the nth statement of a step; a step counts from its call."""

    def __init__(self, statement: int) -> None:
        self._statement = statement
        self._left = 0

    def step_begins(self) -> None:
        self._left = self._statement
        sys.settrace(self._trace)

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(CODE):
            return None
        if event == "line":
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return self._trace


def mark(text: str) -> None:
    with (Path(os.environ["TENURE_TEST_FOLDER"]) / "calls").open("a") as file:
        file.write(f"{text}\n")


def stride(place: int) -> int:
    mark(f"stride {place}")
    return place


async def astride(place: int) -> int:
    await asyncio.sleep(0)
    return stride(place)


@app.task(retry=1000)
async def killed_async(ctx: Context, every: int) -> int:
    """Return at which statement no step could be killed any more."""
    killer = Killer(ctx.attempt * every)
    for place in range(ctx.attempt + 2):
        killer.step_begins()
        await ctx.step("stride", astride, place)
        await ctx.emit(place)
    sys.settrace(None)
    return ctx.attempt * every


@app.task(retry=1000, executor="process")
def killed_process(ctx: Context, every: int) -> int:
    killer = Killer(ctx.attempt * every)
    for place in range(ctx.attempt + 2):
        killer.step_begins()
        ctx.step("stride", stride, place)
    sys.settrace(None)
    return ctx.attempt * every
