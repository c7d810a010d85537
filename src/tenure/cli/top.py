"""``tenure top``: what goes on, live."""

import os
import signal
import sys
import time
from typing import Annotated

import typer
from rich.console import ConsoleDimensions
from rich.live import Live

from tenure.cli.connecting import Connection, connected
from tenure.cli.keys import RESIZED, Keys, keys
from tenure.cli.looking_on import Looker
from tenure.cli.top_view import view
from tenure.errors import StoreUnavailable

EXAMPLES = ("tenure top", "tenure top --once", "tenure top --json")

_EVERY = 1.0  # second, between two looks
_SHARE = 5  # of the time at most one part in this many is spent on looking
_QUIT = ("q", "Q", "\x1b")


@connected
def top(
    to: Connection,
    once: Annotated[bool, typer.Option("--once", help="One look, and leave.")] = False,
) -> None:
    """Show queues, running jobs, stops and workers, live; q quits.

    Where nobody can press a key, it is one look.
    """
    looker = Looker(to.caller)
    if to.show.json:
        to.show.document(looker.look())
    elif once or not (to.show.may_move and sys.stdin.isatty()):
        drawn = view(looker.look(), to.client.settings, None, fills=to.show.is_terminal)
        to.show.draw(drawn, to.show.width)
    else:
        _live(to, looker)


def _live(to: Connection, looker: Looker) -> None:
    # A terminal must be left as it was found, also by who is asked to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    console, settings = to.show.console, to.client.settings
    look, trouble, due = looker.look(), "", time.monotonic() + _EVERY
    with keys() as pressed, Live(console=console, screen=True, auto_refresh=False) as live:
        try:
            while True:
                # Of the terminal itself: what LINES and COLUMNS say does not change with it.
                console.size = ConsoleDimensions(*os.get_terminal_size(sys.stdout.fileno()))
                live.update(view(look, settings, console.size.height, trouble), refresh=True)
                key = _next(pressed, due)
                if key in _QUIT:
                    return
                if key == RESIZED:
                    continue  # at once, with what is known: a look may take long
                began = time.monotonic()
                try:
                    look, trouble = looker.look(), ""
                except StoreUnavailable as error:
                    trouble = str(error)
                ended = time.monotonic()
                due = ended + max(_EVERY, (ended - began) * _SHARE)
        except KeyboardInterrupt:
            return


def _next(pressed: Keys, due: float) -> str | None:
    """A key that is known here, a new size, or nothing when the next look is due."""
    while (left := due - time.monotonic()) > 0:
        if (key := pressed.wait(left)) in (*_QUIT, RESIZED):
            return key
    return None
