"""Code that leaves hooks in the interpreter, which run while others work."""

import asyncio
import gc
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

from tests.apps.hostile.beats import EVERY, Here
from tests.apps.hostile.kinds import kind


@kind("hooks", ("async", "process"))
def interval_timer(here: Here) -> None:
    """signal.setitimer with a handler in Python."""
    signal.signal(signal.SIGALRM, lambda _number, _frame: here.beat())
    signal.setitimer(signal.ITIMER_REAL, EVERY, EVERY)


@kind("hooks", ("async",))
async def loop_signal_handler(here: Here) -> None:
    """loop.add_signal_handler with setitimer."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGALRM, here.beat)
    signal.setitimer(signal.ITIMER_REAL, EVERY, EVERY)


class _Sometimes:
    """Beat at most every 20 ms, however often it is called."""

    def __init__(self, here: Here) -> None:
        self.here = here
        self.last = 0.0

    def __call__(self, *_: Any) -> None:
        if time.monotonic() - self.last >= EVERY:
            self.last = time.monotonic()
            self.here.beat()


@kind("hooks", ("async", "process"))
def trace_function(here: Here) -> None:
    """sys.settrace: a function that runs at every call of anybody's code."""
    sometimes = _Sometimes(here)

    def trace(_frame: FrameType, _event: str, _argument: object) -> None:
        sometimes()

    sys.settrace(trace)


@kind("hooks", ("async", "process"))
def profile_function(here: Here) -> None:
    """sys.setprofile."""
    sometimes = _Sometimes(here)
    sys.setprofile(lambda *_: sometimes())


@kind("hooks", ("async",))
async def trace_of_threads(here: Here) -> None:
    """threading.settrace: a function that runs in every new thread."""
    sometimes = _Sometimes(here)

    def trace(_frame: FrameType, _event: str, _argument: object) -> None:
        sometimes()

    threading.settrace(trace)
    threading.Thread(target=time.time).start()


@kind("hooks", ("async", "process"))
def garbage_callback(here: Here) -> None:
    """gc.callbacks: a function that runs at every collection."""
    gc.callbacks.append(_Sometimes(here))
    gc.collect()


@kind("hooks", ("async",))
async def exception_handler(here: Here) -> None:
    """loop.set_exception_handler with a callback that always fails."""
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, _context: here.beat())

    def fail() -> None:
        loop.call_later(EVERY, fail)
        raise RuntimeError("on purpose")

    fail_soon = loop.call_soon(fail)
    assert fail_soon is not None
