"""Output and log records of job code, for the job's own log."""

import io
import logging
import sys
from typing import TextIO

from tenure.domain.values import shown, storable_text
from tenure.runtime.runner import forks
from tenure.runtime.runner.attempt import Attempt, current


class JobOutput(io.TextIOBase):
    """Replaces sys.stdout in a loop runner: lines go to the job that printed them."""

    def __init__(self, name: str, beneath: TextIO) -> None:
        self._name = name
        self._beneath = beneath
        self._begun: dict[int, str] = {}  # unfinished lines, by run

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return self._beneath.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    def write(self, text: str) -> int:
        attempt = current.get()
        if attempt is None or forks.in_child:
            return self._beneath.write(text)
        *lines, rest = (self._begun.pop(attempt.work.run, "") + text).split("\n")
        for line in lines:
            attempt.log(self._name, line)
        if rest:
            self._begun[attempt.work.run] = rest
            if len(rest) > 10_000:
                self.finish(attempt)
        return len(text)

    def flush(self) -> None:
        self._beneath.flush()

    def finish(self, attempt: Attempt) -> None:
        """Log the last line of an attempt, if it has no line end."""
        if rest := self._begun.pop(attempt.work.run, ""):
            attempt.log(self._name, rest)


class JobLog(logging.Handler):
    """Sends log records of job code to the job's log."""

    def emit(self, record: logging.LogRecord) -> None:
        attempt = current.get()
        if forks.in_child:
            sys.__stderr__.write(self._line(record) + "\n")  # type: ignore[union-attr]
        elif attempt is not None:
            attempt.log(str(record.levelname).lower(), self._line(record))
        elif record.levelno >= logging.WARNING:
            sys.__stderr__.write(self._line(record) + "\n")  # type: ignore[union-attr]

    def _line(self, record: logging.LogRecord) -> str:
        """Return the record as a string. Logging never raises."""
        try:
            return storable_text(self.format(record))
        except Exception as error:  # noqa: BLE001 - formatting runs code of the job
            return f"a log record of {record.name} cannot be written as text: {shown(error)}"


def capture_logging() -> None:
    handler = JobLog()
    handler.setFormatter(logging.Formatter("%(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    if root.level > logging.INFO:
        root.setLevel(logging.INFO)
