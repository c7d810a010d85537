"""Output of commands: text for people, JSON for programs, and prompts for confirmation."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NoReturn, TypeVar

import msgspec
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from tenure.domain import duration
from tenure.domain.job import Job
from tenure.errors import InputRefused, TenureError

T = TypeVar("T")

MAX_SENTENCE = 1000  # characters
PAGE_WIDTH = 100  # columns, where the output is not a terminal
TABLE_WIDTH = 100_000  # columns: a program that reads a table must find nothing cut off

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
    """Prints to a terminal, to a pipe, or as JSON."""

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
        """Tell whether lines may be redrawn: not in JSON, a file or a dumb terminal."""
        return self.is_terminal and not self.json and os.environ.get("TERM", "dumb") != "dumb"

    @property
    def may_ask(self) -> bool:
        return sys.stdin.isatty() and self.is_terminal and not self.json

    def answer(self, value: T, show: str | Callable[[T], None]) -> None:
        """Print a result: as JSON, or as this text, or by this function."""
        if self.json:
            self.document(value)
        elif isinstance(show, str):
            self.print(show)
        else:
            show(value)

    def answer_table(
        self,
        values: tuple[T, ...],
        heads: Sequence[str],
        cells: Callable[[T], Sequence[Any]],
        empty: str,
    ) -> None:
        """Print a list: as JSON, or as a table with a row for each value."""
        self.answer(values, lambda _: self.table(heads, map(cells, values), empty))

    def next_page(self, rows: Sequence[Any], limit: int) -> None:
        """Print how to see the next page, if this page is full."""
        if len(rows) == limit and not self.json:
            self.print(f"next page: --below {rows[-1].id}", style="dim")

    def document(self, value: Any) -> None:
        """Print one JSON document."""
        _write(msgspec.json.format(encoded(value), indent=2).decode())

    def json_line(self, value: Any) -> None:
        """Print one line of JSON Lines."""
        _write(encoded(value).decode())

    def print(
        self, *parts: RenderableType, style: str | None = None, sep: str = " ", end: str = "\n"
    ) -> None:
        """Print text as it is; markup and control sequences are shown, not interpreted."""
        shown = [Text(clean(part)) if isinstance(part, str) else part for part in parts]
        self.console.print(*shown, style=style, sep=sep, end=end, soft_wrap=True)

    def table(self, heads: Sequence[str], rows: Iterable[Sequence[Any]], empty: str) -> None:
        """Print rows under their heads, or a sentence if there are none."""
        rows = list(rows)
        if not rows:
            self.print(empty)
            return
        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
        for place, head in enumerate(heads):
            # The first cell names the row, so it is never cut.
            table.add_column(head, no_wrap=True, overflow="ignore" if place == 0 else "ellipsis")
        for row in rows:
            table.add_row(*(cell if isinstance(cell, Text) else cell_text(cell) for cell in row))
        self.draw(table)

    @property
    def width(self) -> int:
        """Return the columns of a page: those of the terminal, or a readable number."""
        return self.console.width if self.is_terminal else PAGE_WIDTH

    def wrapped(self, head: Text, body: str) -> None:
        """Print a line of a page; a longer one continues under its body, not under its head."""
        room = max(self.width - head.cell_len, 1)
        for row in Text(clean(body)).wrap(self.console, room) or [Text()]:
            self.print(head, row, sep="")
            head = Text(" " * head.cell_len)

    def draw(self, shape: RenderableType, width: int | None = None) -> None:
        """Print a table or a tree; outside a terminal, lines have no trailing spaces."""
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
        """Return the sign for success or failure."""
        if self.is_ascii:
            return "+" if done else "x"
        return "✓" if done else "✗"

    @cached_property
    def is_ascii(self) -> bool:
        """Tell whether the encoding of the output lacks the signs used here."""
        try:
            "✓✗·⠋".encode(self.console.encoding)
        except (UnicodeEncodeError, LookupError):
            return True
        return False

    def confirm(self, what: str, *, yes: bool) -> None:
        """Ask before something that cannot be undone; exit unless the user agrees."""
        if yes:
            return
        if not self.may_ask:
            raise InputRefused(
                f"{what}. Not a terminal, so there is no prompt: pass --yes to confirm"
            )
        self.print(f"{what}. Continue? [y/N] ", end="")
        self.console.file.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            self.print("Nothing was done.")
            sys.exit(1)


def fail(error: TenureError, *, json: bool) -> NoReturn:
    """Exit with the message and the exit code of an error."""
    report(type(error).__name__, str(error), json=json)
    sys.exit(error.exit_code)


def report(kind: str, sentence: str, *, json: bool) -> None:
    """Print an error in one line on standard error."""
    problem = {"error": {"type": kind, "message": sentence}}
    _write(encoded(problem).decode() if json else f"tenure: {single_line(sentence)}", sys.stderr)


def encoded(value: Any) -> bytes:
    return msgspec.json.encode(value)


def clean(value: str) -> str:
    """Make control characters visible, so that a terminal does not interpret them."""
    return "".join(c if c in "\n\t" or c.isprintable() else _visible(c) for c in value)


def single_line(sentence: str) -> str:
    """Return a message as one line of bounded length; it may quote long input."""
    line, half = clean(sentence).replace("\n", "\\n").replace("\t", "\\t"), MAX_SENTENCE // 2
    return line if len(line) <= MAX_SENTENCE else f"{line[:half]} ... {line[-half:]}"


def cell_text(value: Any) -> Text:
    """Return the text of a cell; None is an empty cell."""
    return Text("" if value is None else " ".join(clean(str(value)).split("\n")))


def compact(value: Any) -> str:
    """Return a value as one line of JSON."""
    return clean(json.dumps(value, ensure_ascii=False))


def shown_result(job: Job) -> str | None:
    """Return the result of a job as JSON, or where it is; None if there is none."""
    if job.result_artifact is not None:
        return f"in its artifact {job.result_artifact}"
    return None if job.result is None else compact(job.result)


def pairs(values: Mapping[str, Any] | None) -> str:
    """Return options or filters as they are typed: queue=crawl tag=nightly."""
    return " ".join(
        f"{name}={value if isinstance(value, str) else compact(value)}"
        for name, value in (values or {}).items()
    )


def duration_text(seconds: float) -> str:
    """Format a duration: 0.3s, 12.5s, 3m 20s, 2h 5m, 3d 4h."""
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


def ago(time: datetime | None) -> str:
    """Format a time relative to now: 3m ago, in 2h."""
    if time is None:
        return ""
    return duration.ago((datetime.now(UTC) - time).total_seconds())


def exact_time(time: datetime | None) -> str:
    """Format a time with its age: 2030-01-01 12:00:00 UTC (3m ago)."""
    if time is None:
        return ""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC ({ago(time)})"


def _console(stream: Any) -> Console:
    width = None if stream.isatty() else TABLE_WIDTH
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False)


def _visible(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _write(line: str, stream: Any = None) -> None:
    stream = stream or sys.stdout
    stream.write(f"{line}\n")
    stream.flush()
