"""Log lines of several processes on one terminal.

A thread writes them: a suspended terminal or a pager that does not read must not block the
processes. Lines that do not fit into the buffer are counted and dropped.
"""

import queue
import re
import sys
import threading
from collections.abc import Callable, Mapping

from rich.text import Text

from tenure.cli.output import Printer, clean

_BAR = " │ "
_LOGGED = re.compile(r"\d{4}-\d\d-\d\d (\d\d:\d\d:\d\d),\d{3} ([A-Z]+) (.*)")
_LEVEL_STYLES = {"WARNING": "yellow", "ERROR": "red", "CRITICAL": "red"}
_MAX_LINES = 10_000  # in the buffer
_FLUSH_TIMEOUT = 1.0  # seconds


class LogLines:
    """Writes each line after the name of its process, or as JSON."""

    def __init__(self, out: Printer, styles: Mapping[str, str]) -> None:
        self._out = out
        self._styles = styles  # by the name of the process
        self._width = max(map(len, styles))
        self._waiting: queue.Queue[tuple[str, str] | None] = queue.Queue(_MAX_LINES)
        self._dropped = 0
        self._writer = threading.Thread(target=self._write, daemon=True)
        self.on_broken: Callable[[], object] = lambda: None  # called when the reader is gone
        self._writer.start()

    def add(self, source: str, line: str) -> None:
        try:
            self._waiting.put_nowait((source, line))
        except queue.Full:
            self._dropped += 1

    def close(self) -> None:
        """Write the buffer, without waiting long for a terminal that does not read."""
        try:
            self._waiting.put(None, timeout=_FLUSH_TIMEOUT)
        except queue.Full:
            return
        self._writer.join(_FLUSH_TIMEOUT)

    def _write(self) -> None:
        while (entry := self._waiting.get()) is not None:
            try:
                self._write_line(*entry)
                if self._dropped:
                    dropped, self._dropped = self._dropped, 0
                    self._write_line("up", f"{dropped} lines were dropped: output was blocked")
                sys.stdout.flush()
            except (OSError, ValueError):
                self.on_broken()
                return

    def _write_line(self, source: str, line: str) -> None:
        if self._out.json:
            self._out.json_line({"from": source, "line": line})
            return
        style, rows = self._styles[source], [Text(clean(line))]
        if self._out.is_terminal:
            sys.stdout.write("\r")  # overwrite the ^C that the terminal may have echoed
            room = self._out.console.width - self._width - len(_BAR)
            rows = list(_styled(clean(line)).wrap(self._out.console, max(room, 1)))
        for row in rows:
            self._out.print(Text(f"{source:<{self._width}}{_BAR}", style).append(row))
            source = ""


def _styled(line: str) -> Text:
    """Return a log line without its date, and with its level only if that is serious."""
    if (logged := _LOGGED.fullmatch(line)) is None:
        return Text(line)
    time, level, message = logged.groups()
    shown = Text(f"{time} ", "dim")
    if level in _LEVEL_STYLES:
        shown.append(f"{level.lower()} ", _LEVEL_STYLES[level])
    return shown.append(message, "not dim")
