"""Single keys from a terminal, and a new size of it, while something is shown on all of it."""

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

RESIZED = ""  # in place of a key


class Keys:
    def __init__(self, resized: int) -> None:
        self._resized = resized

    def wait(self, seconds: float) -> str | None:
        """The next key, or ``RESIZED``; none when nothing came in this time."""
        there, _, _ = select.select([sys.stdin, self._resized], [], [], max(seconds, 0))
        if self._resized in there:
            os.read(self._resized, 4096)
            return RESIZED
        if not there:
            return None
        return os.read(sys.stdin.fileno(), 1).decode(errors="replace") or "q"


@contextmanager
def keys() -> Iterator[Keys]:
    """The terminal gives each key at once and shows none; afterwards it is as it was."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    old = signal.signal(signal.SIGWINCH, lambda *_: None)
    # Not by the handler: it has to wait for this thread, and any other one may get the signal.
    woken = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        tty.setcbreak(terminal)
        yield Keys(reading)
    finally:
        signal.set_wakeup_fd(woken)
        signal.signal(signal.SIGWINCH, old)
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        os.close(reading)
        os.close(writing)
