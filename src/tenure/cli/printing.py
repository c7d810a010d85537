"""How commands print: text for people, JSON for programs, and questions before what destroys."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NoReturn

import msgspec
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from tenure.domain import duration
from tenure.errors import InputRefused, TenureError

LONGEST = 1000  # characters of a sentence
PAGE = 100  # columns of a page that is not on a terminal
WIDE = 100_000  # of a table that nobody looks at: what reads it must not find it cut

STYLES = {
    "running": "cyan",
    "cancelling": "yellow",
    "pausing": "yellow",
    "draining": "yellow",
    "paused": "yellow",
    "late": "yellow",
    "retrying": "yellow",
    "partial": "yellow",
    "completed": "green",
    "alive": "green",
    "failed": "red",
    "dead": "red",
    "cancelled": "dim",
    "left": "dim",
}


class Printer:
    """Where a command prints: a terminal, a pipe, or a program that reads JSON."""

    def __init__(self, *, json: bool = False) -> None:
        self.json = json

    @cached_property
    def console(self) -> Console:
        return _console(sys.stdout)

    @property
    def is_terminal(self) -> bool:
        return sys.stdout.isatty()

    @property
    def may_move(self) -> bool:
        """Whether lines may be drawn over: by nobody who wants JSON, a file or a dumb terminal."""
        return self.is_terminal and not self.json and os.environ.get("TERM", "dumb") != "dumb"

    @property
    def may_ask(self) -> bool:
        return sys.stdin.isatty() and self.is_terminal and not self.json

    # For programs.

    def document(self, value: Any) -> None:
        """One JSON document."""
        _write(msgspec.json.format(encoded(value), indent=2).decode())

    def line(self, value: Any) -> None:
        """One line of a stream of JSON documents."""
        _write(encoded(value).decode())

    # For people.

    def say(
        self, *parts: RenderableType, style: str | None = None, sep: str = " ", end: str = "\n"
    ) -> None:
        """Text, as it is: what looks like markup or a control sequence is shown, not obeyed."""
        shown = [Text(clean(part)) if isinstance(part, str) else part for part in parts]
        self.console.print(*shown, style=style, sep=sep, end=end, soft_wrap=True)

    def table(self, heads: Sequence[str], rows: Iterable[Sequence[Any]], empty: str) -> None:
        """Rows under their heads; where there is none, a sentence."""
        rows = list(rows)
        if not rows:
            self.say(empty)
            return
        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
        for place, head in enumerate(heads):
            # The first cell names the row, so it is never cut.
            table.add_column(head, no_wrap=True, overflow="ignore" if place == 0 else "ellipsis")
        for row in rows:
            table.add_row(*(cell if isinstance(cell, Text) else text(cell) for cell in row))
        self.draw(table)

    @property
    def width(self) -> int:
        """Return the columns of a page: those of the terminal, or as many as people read."""
        return self.console.width if self.is_terminal else PAGE

    def wrapped(self, head: Text, body: str) -> None:
        """Say a line of a page; what is longer than the page is wide continues behind the head."""
        room = max(self.width - head.cell_len, 1)
        for row in Text(clean(body)).wrap(self.console, room) or [Text()]:
            self.say(head, row, sep="")
            head = Text(" " * head.cell_len)

    def draw(self, shape: RenderableType, width: int | None = None) -> None:
        """A table or a tree; where nobody looks, its lines end where their text ends."""
        if self.is_terminal:
            self.console.print(shape)
            return
        with self.console.capture() as drawn:
            self.console.print(shape, width=width)
        for line in drawn.get().splitlines():
            _write(line.rstrip())

    def status(self, status: str, shown: str | None = None) -> Text:
        return Text(clean(shown or status), STYLES.get(status, ""))

    def tick(self, done: bool) -> str:
        """The sign of something that was done, or could not be."""
        if self.is_ascii:
            return "+" if done else "x"
        return "✓" if done else "✗"

    @cached_property
    def is_ascii(self) -> bool:
        """Whether the signs that people like cannot be written here."""
        try:
            "✓✗·⠋".encode(self.console.encoding)
        except (UnicodeEncodeError, LookupError):
            return True
        return False

    def confirm(self, what: str, *, yes: bool) -> None:
        """Ask before something that cannot be taken back; a no is the end of the command."""
        if yes:
            return
        if not self.may_ask:
            raise InputRefused(
                f"{what}. Not a terminal, so there is no prompt: pass --yes to confirm"
            )
        self.say(f"{what}. Go on? [y/N] ", end="")
        self.console.file.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            self.say("Nothing was done.")
            sys.exit(1)


def fail(error: TenureError, *, json: bool) -> NoReturn:
    """End the command with the sentence of an error."""
    report(type(error).__name__, str(error), json=json)
    sys.exit(error.exit_code)


def report(kind: str, sentence: str, *, json: bool) -> None:
    """Say what went wrong, in one line on stderr."""
    told = {"error": {"type": kind, "message": sentence}}
    _write(encoded(told).decode() if json else f"tenure: {one_line(sentence)}", sys.stderr)


def encoded(value: Any) -> bytes:
    return msgspec.json.encode(value)


def clean(value: str) -> str:
    """A text that a terminal shows and does not obey: control characters become visible."""
    return "".join(c if c in "\n\t" or c.isprintable() else _visible(c) for c in value)


def one_line(sentence: str) -> str:
    """A text in one line that people can read: what was typed may be long, and have line breaks."""
    line = clean(sentence).replace("\n", "\\n").replace("\t", "\\t")
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"


def text(value: Any) -> Text:
    """A value in a cell; nothing is an empty cell."""
    return Text("" if value is None else " ".join(clean(str(value)).split("\n")))


def compact(value: Any) -> str:
    """A value as people write JSON, in one line."""
    return clean(json.dumps(value, ensure_ascii=False))


def lasting(seconds: float) -> str:
    """A length of time as people say it: 0.3s, 12.5s, 3m 20s, 2h 5m, 3d 4h."""
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days}d {hour}h" if hour else f"{days}d"
    if hours:
        return f"{hours}h {minute}m" if minute else f"{hours}h"
    return f"{minutes}m {second}s" if second else f"{minutes}m"


def ago(moment: datetime | None) -> str:
    """When something was or will be: 3m ago, in 2h."""
    if moment is None:
        return ""
    return duration.ago((datetime.now(UTC) - moment).total_seconds())


def exact(moment: datetime | None) -> str:
    """A moment with its age: 2030-01-01 12:00:00 UTC (3m ago)."""
    if moment is None:
        return ""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC ({ago(moment)})"


def bytes_of(size: int) -> str:
    """A size as people say it: 512 B, 12.3 kB, 4.0 MB."""
    amount = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def _console(stream: Any) -> Console:
    width = None if stream.isatty() else WIDE
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False)


def _visible(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _write(line: str, stream: Any = None) -> None:
    stream = stream or sys.stdout
    stream.write(f"{line}\n")
    stream.flush()
