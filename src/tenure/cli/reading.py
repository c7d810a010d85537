"""What people type, as values: moments, arguments, filters."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from tenure.domain.duration import duration
from tenure.domain.job import JSON
from tenure.errors import InputRefused

IDS = ("id", "parent", "root")  # filters that name a job


def value(text: str) -> JSON:
    """A JSON value where the text is one, else the text: 3, true, [1, 2], example.org."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except ValueError:
        return text


def _no_number(name: str) -> Any:
    raise ValueError(name)


def named_values(words: Iterable[str]) -> dict[str, JSON]:
    """Arguments of a task: site=example.org pages=3."""
    return {name: value(text) for name, text in _pairs(words, "an argument", "site=example.org")}


def filters(words: Iterable[str]) -> dict[str, JSON]:
    """What jobs are chosen by: status=queued queue=crawl parent=7."""
    pairs = _pairs(words, "a filter", "status=queued")
    return {name: whole(text, "a job") if name in IDS else text for name, text in pairs}


def _pairs(words: Iterable[str], what: str, example: str) -> list[tuple[str, str]]:
    pairs: dict[str, str] = {}
    for word in words:
        name, sign, text = word.partition("=")
        if not (name and sign):
            raise InputRefused(f"{word!r} is not {what}; write {example}")
        if name in pairs:
            raise InputRefused(f"{name!r} is said twice")
        pairs[name] = text
    return list(pairs.items())


def an_object(text: str, option: str) -> dict[str, JSON]:
    """A JSON object."""
    try:
        read = json.loads(text, parse_constant=_no_number)
    except ValueError as error:
        raise InputRefused(f"{option}: {text!r} is not JSON: {error}") from None
    if not isinstance(read, dict):
        raise InputRefused(f'{option}: it takes a JSON object such as {{"pages": 3}}')
    return read


def moment(text: str, option: str) -> datetime:
    """A point in time, with its time zone."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise InputRefused(
            f"{option}: {text!r} is not a point in time; write 2030-01-01T12:00Z"
        ) from None
    if read.tzinfo is None:
        raise InputRefused(f"{option}: {text!r} has no time zone; write {text}Z if it is UTC")
    return read


def past(text: str, option: str) -> str | float:
    """A point in time, or how many seconds ago it was: 2030-01-01T12:00Z, 2h.

    When that was the database says; the clock of this machine may be wrong.
    """
    if text[:4].isdigit() and "-" in text:
        return moment(text, option).isoformat()
    return length(text, option).total_seconds()


def length(text: str, option: str) -> timedelta:
    try:
        return duration(text)
    except InputRefused as refusal:
        raise InputRefused(f"{option}: {refusal}") from None


def whole(text: str, what: str) -> int:
    """An id."""
    if not (text.isascii() and text.isdigit()) or int(text) >= 1 << 63:
        raise InputRefused(f"{text!r} is not the id of {what}, which is a whole number")
    return int(text)


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those that somebody said."""
    return {name: value for name, value in options.items() if value not in (None, [], ())}
