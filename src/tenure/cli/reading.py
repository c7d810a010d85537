"""What people type, as values: moments, arguments, filters."""

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
from tenure.domain.values import shown
from tenure.errors import InputRefused, JobNotFound, NotFound

_MOST_DIGITS = 4000  # Python reads few more; what is beyond a double is refused after that
IDS = ("id", "parent", "root")  # filters that name a job


def value(text: str) -> JSON:
    """A JSON value where the text is one, else the text: 3, true, [1, 2], example.org."""
    try:
        return _json(text)
    except ValueError:
        return text


def _json(text: str) -> JSON:
    """Return a JSON value; refuse what would be stored as something else."""
    try:
        read = json.loads(text, parse_constant=_no_number, parse_int=_whole_number)
    except RecursionError:
        raise InputRefused(
            f"{shown(text)} is nested more than {bounds.MOST_LEVELS} levels deep"
        ) from None
    if (wrong := bounds.json_error(read)) is not None:
        raise InputRefused(f"{shown(text)} cannot be taken: {wrong}")
    return read


def _whole_number(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise InputRefused(f"{shown(digits)} cannot be taken: it has {len(digits):,} digits")
    return int(digits)


def _no_number(name: str) -> Any:
    raise ValueError(name)


def named_values(words: Iterable[str]) -> dict[str, JSON]:
    """Arguments of a task: site=example.org pages=3."""
    return {name: value(text) for name, text in _pairs(words, "an argument", "site=example.org")}


def filters(words: Iterable[str]) -> dict[str, JSON]:
    """What jobs are chosen by: status=queued queue=crawl parent=7."""
    pairs = _pairs(words, "a filter", "status=queued", several=SEVERAL)
    read: dict[str, JSON] = {}
    for name, text in pairs:
        known = read.get(name)
        value: JSON = whole(text, "a job") if name in IDS else text
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


def an_object(text: str, option: str) -> dict[str, JSON]:
    """A JSON object."""
    try:
        read = _json(text)
    except ValueError as error:
        raise InputRefused(f"{option}: {shown(text)} is not JSON: {error}") from None
    if not isinstance(read, dict):
        raise InputRefused(f'{option}: it takes a JSON object such as {{"pages": 3}}')
    return read


def moment(text: str, option: str) -> datetime:
    """A point in time, with its time zone."""
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
            f"{option}: {text!r} is outside of the years 1 to 9999 in UTC; write 2030-01-01T12:00Z"
        ) from None


def past(text: str, option: str) -> str | float:
    """A point in time, or how many seconds ago it was: 2030-01-01T12:00Z, 2h.

    When that was the database says; the clock of this machine may be wrong.
    """
    if text[:4].isdigit() and "-" in text:
        return moment(text, option).isoformat()
    return length(text, option).total_seconds()


def length(text: str, option: str) -> timedelta:
    try:
        read = duration(text)
    except InputRefused as refusal:
        raise InputRefused(f"{option}: {refusal}") from None
    if (wrong := bounds.DurationRange().validation_error(read)) is not None:
        raise InputRefused(f"{option}: {wrong}")
    return read


def whole(text: str, what: str) -> int:
    """An id."""
    if not is_id(text):
        raise InputRefused(f"{shown(text)} is not the id of {what}, which is a whole number")
    return int(text)


def id_or_key(named: str) -> int | str:
    """The id of a job, which has digits alone, or its key."""
    if not named:
        raise InputRefused("a job has an id or a key, and this is an empty text")
    if not (named.isascii() and named.isdigit()):
        return named
    if not is_id(named):
        raise JobNotFound(f"there is no job {named[:20]}...")
    return int(named)


def not_found(what: str, name: str, known: Iterable[str]) -> NotFound:
    """There is no such thing; the nearest that there is."""
    nearest = difflib.get_close_matches(name, list(known), n=1, cutoff=0.4)
    hint = f"; the nearest is {nearest[0]!r}" if nearest else ""
    return NotFound(f"there is no {what} {shown(name)}{hint}")


def is_id(text: str) -> bool:
    """Tell whether the text is a whole number that an id can be."""
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_ID))
    return digits and int(text) <= LARGEST_ID


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those that somebody said."""
    return {name: value for name, value in options.items() if value not in (None, [], ())}
