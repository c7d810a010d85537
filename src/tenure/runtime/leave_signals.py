"""Signals that ask a program to exit: handled in its event loop, and ignored from then on.

The handlers of an event loop are no use here. Closing the loop resets them to the default, which
ends the process at once: a signal near the end of a drain would replace the exit code.
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
    handle: Callable[[signal.Signals], object], numbers: Sequence[signal.Signals] = LEAVE
) -> Iterator[None]:
    """Call ``handle`` in the running event loop for each signal. After the block, ignore these
    signals for the rest of the process: it is about to exit with a code of its own."""
    loop = asyncio.get_running_loop()

    def pass_on(number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(handle, signal.Signals(number))

    # A handler runs between two steps of Python code, so a loop that waits has to be woken.
    woken, waker = socket.socketpair()
    woken.setblocking(False)
    waker.setblocking(False)
    loop.add_reader(woken, _drain, woken)
    before = signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    for number in numbers:
        signal.signal(number, pass_on)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        signal.set_wakeup_fd(before)
        loop.remove_reader(woken)
        woken.close()
        waker.close()


def _drain(woken: socket.socket) -> None:
    with suppress(BlockingIOError):
        woken.recv(4096)
