"""Functions that the interpreter calls by itself: signal handlers, timers, trace functions."""

import gc
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
# SIGCHLD is left alone: its handler waits for the processes of all jobs.
_SIGNALS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}

_TRACERS: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (sys.gettrace, sys.settrace),
    (sys.getprofile, sys.setprofile),
    (threading.gettrace, threading.settrace),
    (threading.getprofile, threading.setprofile),
)


class CodeHooks:
    """Remembers the hooks of this process, to restore them after a job was stopped."""

    def __init__(self) -> None:
        self._handlers = {number: signal.getsignal(number) for number in _SIGNALS}
        self._tracers = [(get, put, get()) for get, put in _TRACERS]
        self._on_collection = list(gc.callbacks)

    def restore(self) -> None:
        # Timers first: the default of their signals is death.
        for timer in _TIMERS:
            signal.setitimer(timer, 0)
        for number, handler in self._handlers.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        for get, put, tracer in self._tracers:
            if get() is not tracer:
                put(tracer)
        if gc.callbacks != self._on_collection:
            gc.callbacks[:] = self._on_collection
