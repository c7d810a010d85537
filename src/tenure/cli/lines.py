"""Lines of several speakers on one terminal.

They are written by a thread of their own: a terminal that is stopped, or a pager that does not read
on, must not hold up those who speak. What does not fit is counted and dropped.
"""

import queue
import re
import sys
import threading
from collections.abc import Callable, Mapping

from rich.text import Text

from tenure.cli.printing import Printer, clean

_BAR = " │ "
_LOGGED = re.compile(r"\d{4}-\d\d-\d\d (\d\d:\d\d:\d\d),\d{3} ([A-Z]+) (.*)")
_LOUD = {"WARNING": "yellow", "ERROR": "red", "CRITICAL": "red"}
_MOST = 10_000  # lines that wait to be written
_PATIENCE = 1.0  # seconds, for the last ones


class Lines:
    """Writes each line behind the name of who says it; JSON for programs."""

    def __init__(self, show: Printer, speakers: Mapping[str, str]) -> None:
        self._show = show
        self._styles = speakers
        self._width = max(map(len, speakers))
        self._waiting: queue.Queue[tuple[str, str] | None] = queue.Queue(_MOST)
        self._dropped = 0
        self._writer = threading.Thread(target=self._write, daemon=True)
        self.on_broken: Callable[[], object] = lambda: None  # nobody reads any more
        self._writer.start()

    def say(self, who: str, line: str) -> None:
        try:
            self._waiting.put_nowait((who, line))
        except queue.Full:
            self._dropped += 1

    def close(self) -> None:
        """Write what waits; a terminal that does not take it is not waited for."""
        try:
            self._waiting.put(None, timeout=_PATIENCE)
        except queue.Full:
            return
        self._writer.join(_PATIENCE)

    def _write(self) -> None:
        while (said := self._waiting.get()) is not None:
            try:
                self._write_one(*said)
                if self._dropped:
                    dropped, self._dropped = self._dropped, 0
                    self._write_one("up", f"{dropped} lines were dropped: nobody read them")
                sys.stdout.flush()
            except (OSError, ValueError):
                self.on_broken()
                return

    def _write_one(self, who: str, line: str) -> None:
        if self._show.json:
            self._show.line({"from": who, "line": line})
            return
        style, rows = self._styles[who], [Text(clean(line))]
        if self._show.is_terminal:
            sys.stdout.write("\r")  # over the ^C that a terminal may have written
            room = self._show.console.width - self._width - len(_BAR)
            rows = list(_calm(clean(line)).wrap(self._show.console, max(room, 1)))
        for row in rows:
            self._show.say(Text(f"{who:<{self._width}}{_BAR}", style).append(row))
            who = ""


def _calm(line: str) -> Text:
    """A line of a log for people who are there: without its date, and loud only if it has to be."""
    if (logged := _LOGGED.fullmatch(line)) is None:
        return Text(line)
    time, level, message = logged.groups()
    shown = Text(f"{time} ", "dim")
    if level in _LOUD:
        shown.append(f"{level.lower()} ", _LOUD[level])
    return shown.append(message, "not dim")
