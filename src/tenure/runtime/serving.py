"""The server program around an embedded worker: its signals, and whether it reloads."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from tenure.runtime.leave_signals import LEAVE

# Set in the process that Django and Werkzeug restart when a file changes.
_RELOADED = ("RUN_MAIN", "WERKZEUG_RUN_MAIN")


@contextmanager
def also_on_signals(handle: Callable[[], object]) -> Iterator[None]:
    """Call ``handle`` in the running event loop for each signal that asks this program to exit.

    The program's own handler is called first, and is restored when the block ends. A signal
    without a handler is left alone: it ends the program.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in LEAVE}

    def pass_on(number: int, frame: FrameType | None) -> Any:
        handler = before[signal.Signals(number)]
        assert callable(handler)
        try:
            return handler(number, frame)
        finally:
            loop.call_soon_threadsafe(handle)

    watched = [number for number, handler in before.items() if callable(handler)]
    for number in watched:
        signal.signal(number, pass_on)
    try:
        yield
    finally:
        for number in watched:
            if signal.getsignal(number) is pass_on:
                signal.signal(number, before[number])


def is_reloaded() -> bool:
    """Tell whether a server restarts this program when a file changes."""
    if "--reload" in sys.argv or any(os.environ.get(name) == "true" for name in _RELOADED):
        return True
    # Started from code, uvicorn sets nothing; the call that began this process has its settings.
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__") == "uvicorn._subprocess":
            return bool(getattr(frame.f_locals.get("config"), "reload", False))
        frame = frame.f_back
    return False
