"""The log of a program: text lines, or a JSON object for each line.

A line names its subject in ``extra``, by FIELDS. Arguments of a job are never logged.
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
_of_process: dict[str, str] = {}  # fields of every line of this process


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        fields: dict[str, object] = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_of_process,
        }
        fields |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_info:
            fields["error"] = self.formatException(record.exc_info)
        return json.dumps(fields, default=str)


class TextLines(logging.Formatter):
    """A line for each message; nothing in a message can begin another line.

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

    For programs of Tenure itself; the logging of a user's program is left alone.
    """
    _handler.setFormatter(_FORMS[form]())
    level = logging.DEBUG if verbose else logging.INFO
    logging.basicConfig(level=level, handlers=[_handler])
    logging.getLogger("asyncio").setLevel(logging.INFO)


def change_format(form: Form) -> None:
    """Change the format when the app, and with it the setting, is imported."""
    _handler.setFormatter(_FORMS[form]())


def every_line_is_about(**fields: str) -> None:
    """Add these fields to every further line of this process."""
    _of_process.update(fields)
