"""The time limit of a step in a plain function: an alarm that raises in the main thread."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tenure.domain.duration import duration, in_words
from tenure.errors import InputRefused, Timeout
from tenure.runtime.runner.attempt import Attempt

_AGAIN = 0.01  # seconds until the alarm is repeated that a shield held up


@contextmanager
def alarm(attempt: Attempt, timeout: float | None, name: str) -> Iterator[None]:
    """Raise Timeout in the block when its time is over; a shield holds it up."""
    if timeout is None:
        yield
        return
    if threading.current_thread() is not threading.main_thread():
        raise InputRefused(
            f"step {name!r} has a timeout and runs in a thread, where nothing can interrupt it; "
            f'use the executor "process" or a coroutine'
        )
    is_over = False

    def on_alarm(_signal: int, _frame: FrameType | None) -> None:
        if is_over:
            return
        if attempt.shields:
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
            return
        raise Timeout(f"step {name!r} took longer than {in_words(duration(timeout))}")

    began = time.monotonic()
    before = signal.signal(signal.SIGALRM, on_alarm)
    outer, _ = signal.setitimer(signal.ITIMER_REAL, max(timeout, 1e-6))
    try:
        yield
    finally:
        is_over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if outer:  # the alarm of a step around this one, whose time has gone on
            left = outer - (time.monotonic() - began)
            signal.setitimer(signal.ITIMER_REAL, max(left, 1e-6))
