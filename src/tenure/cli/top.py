"""``tenure top``: a live view of queues, jobs, stops and workers."""

import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import ConsoleDimensions
from rich.live import Live

from tenure.cli.connection import Connection, connected
from tenure.cli.options import flag
from tenure.cli.snapshot import Sampler
from tenure.cli.top_view import view
from tenure.errors import StoreUnavailable

EXAMPLES = ("tenure top", "tenure top --once", "tenure top --json")

RESIZED = ""  # in place of a key

_INTERVAL = 1.0  # seconds, between two snapshots
_SHARE = 5  # at most one fifth of the time is spent on snapshots
_QUIT = ("q", "Q", "\x1b")


class Keys:
    """Single key presses, and changes of the size of the terminal."""

    def __init__(self, resized: int) -> None:
        self._resized = resized

    def wait(self, seconds: float) -> str | None:
        """Return the next key, ``RESIZED``, or None if neither came in this time."""
        ready, _, _ = select.select([sys.stdin, self._resized], [], [], max(seconds, 0))
        if self._resized in ready:
            os.read(self._resized, 4096)
            return RESIZED
        if not ready:
            return None
        return os.read(sys.stdin.fileno(), 1).decode(errors="replace") or "q"


@contextmanager
def keys() -> Iterator[Keys]:
    """Read keys one by one and without echo, and restore the terminal afterwards."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    old = signal.signal(signal.SIGWINCH, lambda *_: None)
    # The handler would have to wait for this thread, and any thread may get the signal.
    previous = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        tty.setcbreak(terminal)
        yield Keys(reading)
    finally:
        signal.set_wakeup_fd(previous)
        signal.signal(signal.SIGWINCH, old)
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        os.close(reading)
        os.close(writing)


@connected
def top(
    to: Connection,
    once: bool = flag("--once", "Print one snapshot and exit."),
) -> None:
    """Show queues, running jobs, stops and workers, live; q quits.

    Outside a terminal, print one snapshot.
    """
    sampler = Sampler(to.caller)
    if to.out.json:
        to.out.document(sampler.take())
    elif once or not (to.out.may_move and sys.stdin.isatty()):
        drawn = view(sampler.take(), to.client.settings, None, fills=to.out.is_terminal)
        to.out.draw(drawn, to.out.width)
    else:
        _live(to, sampler)


def _live(to: Connection, sampler: Sampler) -> None:
    # SIGTERM must restore the terminal too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    console, settings = to.out.console, to.client.settings
    snapshot, trouble, due = sampler.take(), "", time.monotonic() + _INTERVAL
    with keys() as pressed, Live(console=console, screen=True, auto_refresh=False) as live:
        try:
            while True:
                # From the terminal itself: LINES and COLUMNS do not change with it.
                console.size = ConsoleDimensions(*os.get_terminal_size(sys.stdout.fileno()))
                live.update(view(snapshot, settings, console.size.height, trouble), refresh=True)
                key = _next(pressed, due)
                if key in _QUIT:
                    return
                if key == RESIZED:
                    continue  # redraw at once: a snapshot may take long
                began = time.monotonic()
                try:
                    snapshot, trouble = sampler.take(), ""
                except StoreUnavailable as error:
                    trouble = str(error)
                ended = time.monotonic()
                due = ended + max(_INTERVAL, (ended - began) * _SHARE)
        except KeyboardInterrupt:
            return


def _next(pressed: Keys, due: float) -> str | None:
    """Return a key that quits, ``RESIZED``, or None when the next snapshot is due."""
    while (left := due - time.monotonic()) > 0:
        if (key := pressed.wait(left)) in (*_QUIT, RESIZED):
            return key
    return None
