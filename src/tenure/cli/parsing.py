"""Parsing of what users type: times, arguments, filters."""

import difflib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tenure.domain import bounds
from tenure.domain.bounds import LARGEST_ID
from tenure.domain.duration import duration
from tenure.domain.job import JSON
from tenure.domain.policy import SEVERAL
from tenure.domain.values import refusals_about, shown
from tenure.errors import InputRefused, JobNotFound, NotFound

_MAX_DIGITS = 4000  # Python parses few more; numbers beyond a double are refused later
IDS = ("id", "parent", "root")  # filters that name a job


def value(text: str) -> JSON:
    """Return the JSON value of a text, or the text itself: 3, true, [1, 2], example.org."""
    try:
        return _json(text)
    except ValueError:
        return text


def _json(text: str) -> JSON:
    """Return a JSON value; refuse a value that would be stored as another one."""
    try:
        read = json.loads(text, parse_constant=_no_number, parse_int=_whole_number)
    except RecursionError:
        raise InputRefused(
            f"{shown(text)} is nested more than {bounds.MAX_LEVELS} levels deep"
        ) from None
    if (wrong := bounds.json_error(read)) is not None:
        raise InputRefused(f"{shown(text)} is refused: {wrong}")
    return read


def _whole_number(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise InputRefused(f"{shown(digits)} is refused: it has {len(digits):,} digits")
    return int(digits)


def _no_number(name: str) -> Any:
    raise ValueError(name)


def named_values(words: Iterable[str]) -> dict[str, JSON]:
    """Parse the arguments of a task: site=example.org pages=3."""
    return {name: value(text) for name, text in _pairs(words, "an argument", "site=example.org")}


def step_value(word: str) -> tuple[str, JSON]:
    """Parse the value of a step: plan='["a", "b"]'."""
    [(name, text)] = _pairs([word], "the value of a step", "plan='[1, 2]'")
    return name, value(text)


def filters(words: Iterable[str]) -> dict[str, JSON]:
    """Parse filters of jobs: status=queued queue=crawl parent=7."""
    pairs = _pairs(words, "a filter", "status=queued", several=SEVERAL)
    read: dict[str, JSON] = {}
    for name, text in pairs:
        known = read.get(name)
        is_id = name in IDS and (name, text) != ("parent", "none")
        value: JSON = whole(text, "a job") if is_id else text
        read[name] = (
            value if known is None else [*(known if isinstance(known, list) else [known]), value]
        )
    return read


def _pairs(
    words: Iterable[str], what: str, example: str, *, several: Iterable[str] = ()
) -> list[tuple[str, str]]:
    """Return names and values; only a name among ``several`` may be repeated."""
    pairs: list[tuple[str, str]] = []
    names: set[str] = set()
    for word in words:
        name, sign, text = word.partition("=")
        if not (name and sign):
            raise InputRefused(f"{shown(word)} is not {what}; write {example}")
        if name in names and name not in several:
            raise InputRefused(f"{shown(name)} is given twice")
        names.add(name)
        pairs.append((name, text))
    return pairs


def json_object(text: str, option: str) -> dict[str, JSON]:
    """Parse a JSON object."""
    try:
        read = _json(text)
    except ValueError as error:
        raise InputRefused(f"{option}: {shown(text)} is not JSON: {error}") from None
    if not isinstance(read, dict):
        raise InputRefused(f'{option} takes a JSON object such as {{"pages": 3}}')
    return read


def point_in_time(text: str, option: str) -> datetime:
    """Parse a point in time with its time zone."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise InputRefused(
            f"{option}: {shown(text)} is not a point in time; write 2030-01-01T12:00Z"
        ) from None
    if read.tzinfo is None:
        raise InputRefused(f"{option}: {text!r} has no time zone; write {text}Z if it is UTC")
    try:
        return read.astimezone(UTC)
    except OverflowError:
        raise InputRefused(
            f"{option}: {text!r} is outside the years 1 to 9999 in UTC; write 2030-01-01T12:00Z"
        ) from None


def past(text: str, option: str) -> str | float:
    """Parse a point in time, or a number of seconds ago: 2030-01-01T12:00Z, 2h.

    The database computes the latter, as the clock of this machine may be wrong.
    """
    if text[:4].isdigit() and "-" in text:
        return point_in_time(text, option).isoformat()
    return length(text, option).total_seconds()


def length(text: str, option: str) -> timedelta:
    with refusals_about(option):
        read = duration(text)
    if (wrong := bounds.DurationRange().validation_error(read)) is not None:
        raise InputRefused(f"{option}: {wrong}")
    return read


def whole(text: str, what: str) -> int:
    """Parse an id."""
    if not is_id(text):
        raise InputRefused(f"{shown(text)} is not the id of {what}, which is a whole number")
    return int(text)


def id_or_key(named: str) -> int | str:
    """Return the id of a job, if it is all digits, or else its key."""
    if not named:
        raise InputRefused("name a job by its id or key; this is empty")
    if not (named.isascii() and named.isdigit()):
        return named
    if not is_id(named):
        raise JobNotFound(f"there is no job {named[:20]}...")
    return int(named)


def not_found(what: str, name: str, known: Iterable[str]) -> NotFound:
    """Return an error that suggests the nearest known name."""
    nearest = difflib.get_close_matches(name, list(known), n=1, cutoff=0.4)
    hint = f"; the nearest is {nearest[0]!r}" if nearest else ""
    return NotFound(f"there is no {what} {shown(name)}{hint}")


def is_id(text: str) -> bool:
    """Tell whether the text is a whole number in the range of ids."""
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_ID))
    return digits and int(text) <= LARGEST_ID


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given."""
    return {name: value for name, value in options.items() if value not in (None, [], ())}
