"""The search field of the job list: ``status:failed owner:ada since:2h free text``."""

import difflib
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.duration import duration
from tenure.domain.lifecycle import Status
from tenure.domain.policy import FILTERS
from tenure.errors import InputRefused
from tenure.store.calls import queries

# The fields in the order in which they are offered, with what each finds.
FIELDS: Mapping[str, str] = {
    "status": "queued, running, failed, …",
    "task": "name of a task",
    "queue": "name of a queue",
    "owner": "who enqueued it",
    "tag": "all of several tags",
    "key": "key of a job",
    "target": "what only one job uses at a time",
    "since": "created after: 2h ago, or 2030-01-31T12:00",
    "until": "created before: 2h ago, or 2030-01-31T12:00",
    "id": "one or more jobs",
    "parent": "children of a job; none: jobs without a parent",
    "root": "a job with all jobs below it",
}
_NAMES = tuple(name for name in FILTERS if name != "text")
_ALIASES = {"after": "since", "before": "until"}
_STORED = ("task", "queue", "owner", "tag", "key", "target")  # fields with values to offer
_TIMES = ("10m", "1h", "24h", "7d")
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_WORD = re.compile(rf"(?:([a-z_]+):)?({_QUOTED})(?!\S)|(\S+)")
_NAMES_A_FIELD = re.compile("[a-z_]+:(?!//)")
_UNSAFE = re.compile(r'[\s"]')
_ESCAPE = re.compile(r"\\(.)")
_MAX_OFFERED = 12


def read_search(text: str) -> list[tuple[str, str]]:
    """Return the filters that a search names.

    All other words are one filter for text; a text in quotes is a filter of its own.
    """
    filters: list[tuple[str, str]] = []
    words = []
    for name, quoted, word in _WORD.findall(text):
        if quoted:
            filters.append((_field(name) if name else "text", _ESCAPE.sub(r"\1", quoted[1:-1])))
        elif (field := _field_of(word)) is None:
            words.append(word)
        else:
            value = word.partition(":")[2]
            several = value.split(",") if field in ("id", "status") else [value]
            filters += [(field, each) for each in several if each]
    for name, value in filters:
        if name == "status" and value not in set(Status):
            raise InputRefused(f"status: there is no {value!r}{_nearest(value, list(Status))}")
    return [*filters, *([("text", " ".join(words))] if words else [])]


def write_search(filters: Mapping[str, str | list[str]]) -> str:
    """Return the search that names these filters."""
    words: list[str] = []
    for name, given in filters.items():
        values = [given] if isinstance(given, str) else given
        if name == "text":
            words += values if len(values) == 1 and _is_plain(values[0]) else map(_quote, values)
        elif name in ("id", "status"):
            words.append(f"{name}:{','.join(values)}")
        else:
            words += [write_word(name, value) for value in values]
    return " ".join(words)


def write_word(name: str, value: str) -> str:
    return f"{name}:{_quote(value) if _UNSAFE.search(value) else value}"


async def complete(caller: AuthorizedClient, word: str) -> list[tuple[str, str]]:
    """Return words that a word of a search may become, each with a hint."""
    name, colon, start = word.partition(":")
    if not colon:
        return [(f"{field}:", hint) for field, hint in FIELDS.items() if field.startswith(name)]
    name, start = _ALIASES.get(name, name), start.removeprefix('"')
    if name in _STORED:
        values = await caller.asend(queries.filter_values(name, start, n=_MAX_OFFERED))
        return [(write_word(name, value), "") for value in values]
    if name == "status":
        *before, last = start.split(",")
        found = [status for status in Status if status.startswith(last)]
        return [(f"status:{','.join([*before, status])}", "") for status in found]
    if name in ("since", "until"):
        return [(f"{name}:{time}", "ago") for time in _TIMES if time.startswith(start)]
    return []


def read_past(name: str, text: str) -> str:
    """Read a time, or how long ago it was."""
    try:
        return (datetime.now(UTC) - duration(text)).isoformat()
    except (InputRefused, OverflowError):
        return read_timestamp(name, text, " or how long ago, such as 2h")


def read_timestamp(name: str, text: str, also: str = "") -> str:
    """Read a time; without a zone it is in UTC."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InputRefused(f"{name}: must be a time such as 2030-01-01T12:00{also}") from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).isoformat()


def _field_of(word: str) -> str | None:
    """Return the field that a word names; None if it is text, such as http://example.org."""
    if not _NAMES_A_FIELD.match(word):
        return None
    name, _, value = word.partition(":")
    field = _field(name)
    if not value:
        raise InputRefused(f"{name}: needs a value: {FIELDS.get(field, field)}")
    return field


def _field(name: str) -> str:
    field = _ALIASES.get(name, name)
    if field not in _NAMES:
        raise InputRefused(
            f"{name}: is not a field{_nearest(name, list(_NAMES))} To search for the text itself, "
            f'put it into quotes: "{name}:..."'
        )
    return field


def _nearest(word: str, known: list[str]) -> str:
    """Return what would be right, to follow what is wrong."""
    near = [name for name in known if name.startswith(word)] or difflib.get_close_matches(
        word, known
    )
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}."


def _is_plain(text: str) -> bool:
    """Return whether a text without quotes is read as the same text."""
    words = text.split(" ")
    return all(words) and not any(_NAMES_A_FIELD.match(w) or _UNSAFE.search(w) for w in words)


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
