"""The log of a program: lines for people, or a JSON object for each line.

Lines say what they are about in ``extra``, by the names of FIELDS. What a job was called with is
never among it.
"""

import json
import logging
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

Form = Literal["text", "json"]

FIELDS = ("tenant", "job", "attempt", "worker", "cancellation")
TEXT = "%(asctime)s %(levelname)s %(message)s"

_handler = logging.StreamHandler(sys.stderr)
_of_process: dict[str, str] = {}  # what every line of this process is about


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        told: dict[str, object] = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_of_process,
        }
        told |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_info:
            told["error"] = self.formatException(record.exc_info)
        return json.dumps(told, default=str)


class TextLines(logging.Formatter):
    """A line for each message; what code and people say cannot begin another one.

    The lines of a traceback follow, each behind a mark that no message begins with.
    """

    def __init__(self) -> None:
        super().__init__(TEXT)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is logging's
        return visible(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802
        lines = super().formatException(ei).splitlines()
        return "\n".join(f"  | {visible(line)}" for line in lines)


def visible(text: str) -> str:
    """Return the text with escapes in place of line breaks and control characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


_FORMS: Mapping[Form, Callable[[], logging.Formatter]] = {
    "text": TextLines,
    "json": JsonLines,
}


def configure(form: Form, *, verbose: bool = False) -> None:
    """Write the log of this process to its standard error.

    For programs of our own: one that has its own ideas about logging is left alone.
    """
    _handler.setFormatter(_FORMS[form]())
    level = logging.DEBUG if verbose else logging.INFO
    logging.basicConfig(level=level, handlers=[_handler])
    logging.getLogger("asyncio").setLevel(logging.INFO)


def change_format(form: Form) -> None:
    """What the app wants is known only when it is imported."""
    _handler.setFormatter(_FORMS[form]())


def every_line_is_about(**fields: str) -> None:
    """From now on, in this process."""
    _of_process.update(fields)
