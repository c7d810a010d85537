"""The server that a worker inside a program runs under: its signals, and whether it reloads."""

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

# Set in the process that Django and Werkzeug start again when a file changes.
_RELOADED = ("RUN_MAIN", "WERKZEUG_RUN_MAIN")


@contextmanager
def also_on_signals(hear: Callable[[], object]) -> Iterator[None]:
    """Call ``hear`` in the running event loop for each signal that asks this program to leave.

    The program's own handler is called first, and is in its place again when the block ends. A
    signal without a handler is left alone: it ends the program.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in LEAVE}

    def heard(number: int, frame: FrameType | None) -> Any:
        handler = before[signal.Signals(number)]
        assert callable(handler)
        try:
            return handler(number, frame)
        finally:
            loop.call_soon_threadsafe(hear)

    ours = [number for number, handler in before.items() if callable(handler)]
    for number in ours:
        signal.signal(number, heard)
    try:
        yield
    finally:
        for number in ours:
            if signal.getsignal(number) is heard:
                signal.signal(number, before[number])


def is_reloaded() -> bool:
    """Tell whether a server runs this program that starts it again when a file changes."""
    if "--reload" in sys.argv or any(os.environ.get(name) == "true" for name in _RELOADED):
        return True
    # Started from code, uvicorn tells nobody; the call that began this process has its settings.
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__") == "uvicorn._subprocess":
            return bool(getattr(frame.f_locals.get("config"), "reload", False))
        frame = frame.f_back
    return False
