"""Functions that the interpreter calls by itself: signal handlers, timers, trace functions."""

import gc
import signal
import sys
import threading

_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
# SIGCHLD is left alone: its handler waits for the processes of all jobs.
_SIGNALS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}


class CodeHooks:
    """Remembers the hooks of this process, to restore them after a job was stopped."""

    def __init__(self) -> None:
        self._handlers = {number: signal.getsignal(number) for number in _SIGNALS}
        self._trace, self._profile = sys.gettrace(), sys.getprofile()
        self._thread_trace, self._thread_profile = threading.gettrace(), threading.getprofile()
        self._on_collection = list(gc.callbacks)

    def restore(self) -> None:
        # Timers first: the default of their signals is death.
        for timer in _TIMERS:
            signal.setitimer(timer, 0)
        for number, handler in self._handlers.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        if sys.gettrace() is not self._trace:
            sys.settrace(self._trace)
        if sys.getprofile() is not self._profile:
            sys.setprofile(self._profile)
        if threading.gettrace() is not self._thread_trace:
            threading.settrace(self._thread_trace)
        if threading.getprofile() is not self._thread_profile:
            threading.setprofile(self._thread_profile)
        if gc.callbacks != self._on_collection:
            gc.callbacks[:] = self._on_collection
