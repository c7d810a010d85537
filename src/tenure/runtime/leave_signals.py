"""Signals that ask a program to leave: heard in its event loop, and ignored from then on.

The handlers of an event loop are no use here. Closing the loop resets them to the default, which
ends the process at once: a signal in the last moments of a drain would replace the exit code.
"""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

LEAVE = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def leave_signals(
    hear: Callable[[signal.Signals], object], numbers: Sequence[signal.Signals] = LEAVE
) -> Iterator[None]:
    """Call ``hear`` in the running event loop for each signal. When the block ends, ignore these
    signals for as long as the process lives: it is about to end with a code of its own."""
    loop = asyncio.get_running_loop()

    def heard(number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(hear, signal.Signals(number))

    # A handler runs between two steps of Python code, so a loop that waits has to be woken.
    ours, waker = socket.socketpair()
    ours.setblocking(False)
    waker.setblocking(False)
    loop.add_reader(ours, _drain, ours)
    before = signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    for number in numbers:
        signal.signal(number, heard)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        signal.set_wakeup_fd(before)
        loop.remove_reader(ours)
        ours.close()
        waker.close()


def _drain(ours: socket.socket) -> None:
    with suppress(BlockingIOError):
        ours.recv(4096)
