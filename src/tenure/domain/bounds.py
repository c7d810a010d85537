"""The bounds of every value that a caller can store: lengths, ranges, choices.

They are declared only here. SQL verbs take them from here when they are installed
(``{reason.max}`` in a verb becomes a number), so the database refuses the same values as Python,
the command line and the REST API. ``docs/reference/bounds.md`` is generated from this table.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any, ClassVar

from tenure.domain.duration import in_words
from tenure.domain.values import LARGEST_NUMBER, shown, storable_text

MAX_ARGS_BYTES = 1_048_576
MAX_FLEET = 100_000  # workers
MAX_RESULT_BYTES = 32 << 20  # the largest message between two processes
MAX_RETRIES = 32_766  # the attempts are counted in a smallint
LEAST_MEMORY = 16_000_000  # about what an empty interpreter takes
MAX_LEVELS = 64  # of nested lists and objects
LARGEST_ID = (1 << 63) - 1  # of a job, a token, an audit row
LARGEST_AMOUNT = 1e18  # of a budget, so that sums of them stay exact enough
LONGEST = timedelta(days=36_500)
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Text:
    """A text of 1 to ``max`` characters."""

    max: int

    @property
    def words(self) -> str:
        return f"1 to {self.max:,} characters"

    def validation_error(self, value: Any) -> str | None:
        """Return why a value is refused, or None."""
        if not isinstance(value, str):
            return f"it takes a text, not {shown(value)}"
        if not value:
            return f"it takes a text of {self.words}; leave it out instead of an empty one"
        if len(value) > self.max:
            return f"it takes a text of {self.words}, and this one has {len(value):,}"
        if storable_text(value) != str.__str__(value):
            wrong = "NUL" if "\0" in value else "a lone surrogate"
            return f"{shown(value)} contains {wrong}, which PostgreSQL cannot store"
        return None


@dataclass(frozen=True)
class Names:
    """A list of at most ``max`` texts."""

    max: int
    each: int  # characters

    @property
    def words(self) -> str:
        return f"at most {self.max:,}, each of 1 to {self.each:,} characters"

    def validation_error(self, value: Any) -> str | None:
        """Return why a value is refused, or None."""
        if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__len__"):
            return f"it takes a list of texts, not {shown(value)}"
        if len(value) > self.max:
            return f"it takes at most {self.max:,} texts, not {len(value):,}"
        each = Text(self.each)
        return next(filter(None, map(each.validation_error, value)), None)


@dataclass(frozen=True)
class Number:
    """A finite number in a range."""

    min: float
    max: float
    _kinds: ClassVar[tuple[type, ...]] = (int, float)

    @property
    def words(self) -> str:
        return f"a number from {self.min:g} to {self.max:g}"

    def validation_error(self, value: Any) -> str | None:
        """Return why a value is refused, or None."""
        fits = isinstance(value, self._kinds) and not isinstance(value, bool)
        if not fits or not self.min <= value <= self.max:
            return f"it takes {self.words}, not {shown(value)}"
        return None


@dataclass(frozen=True)
class Whole(Number):
    """A whole number in a range."""

    min: int
    max: int
    _kinds = (int,)

    @property
    def words(self) -> str:
        return f"a whole number from {self.min} to {self.max}"


@dataclass(frozen=True)
class DurationRange:
    """A duration from ``min`` to ``max``."""

    max: timedelta = LONGEST
    min: timedelta = timedelta(0)

    @property
    def words(self) -> str:
        start = "more than 0s" if self.min == _NO_TIME else f"from {in_words(self.min)}"
        return f"{start} up to {self.max.days:,} days"

    def validation_error(self, value: timedelta) -> str | None:
        """Return why a value is refused, or None."""
        if not self.min <= value <= self.max:
            return f"it takes a length of time {self.words}, not {in_words(value)}"
        return None


@dataclass(frozen=True)
class TimestampRange:
    """A point in time that every reader can show."""

    earliest: datetime = EARLIEST
    latest: datetime = LATEST

    @property
    def words(self) -> str:
        return f"the years {self.earliest.year} to {self.latest.year}, with a time zone"

    def validation_error(self, value: Any) -> str | None:
        """Return why a value is refused, or None."""
        if not isinstance(value, datetime):
            return f"it takes a datetime, not {shown(value)}"
        if value.tzinfo is None:
            return f"{value} has no time zone; give it one"
        if not self.earliest <= value <= self.latest:
            return f"it takes a time in {self.words}, not {value.isoformat()}"
        return None


@dataclass(frozen=True)
class Bytes:
    """JSON of at most ``max`` bytes."""

    max: int

    @property
    def words(self) -> str:
        return f"at most {self.max:,} bytes of JSON, {MAX_LEVELS} levels deep"


@dataclass(frozen=True)
class Count:
    """A number of things."""

    max: int

    @property
    def words(self) -> str:
        return f"at most {self.max:,}"

    def validation_error(self, value: Any) -> str | None:
        """Return why a collection is refused, or None."""
        if len(value) > self.max:
            return f"it takes at most {self.max:,}, not {len(value):,}"
        return None


Bound = Text | Names | Number | DurationRange | TimestampRange | Bytes | Count

_SMALLINT = Whole(-(1 << 15), (1 << 15) - 1)
_NAME = Text(500)
LOG_LINE = Text(65_536)
LOG_LEVEL = Text(50)
_NO_TIME = timedelta(microseconds=1)  # the shortest duration above zero

JOB: Mapping[str, Bound] = {
    "task": _NAME,
    "queue": _NAME,
    "key": _NAME,
    "owner": _NAME,
    "unique": _NAME,
    "idempotency": _NAME,
    "target": _NAME,
    "args": Bytes(MAX_ARGS_BYTES),
    "priority": _SMALLINT,
    "max_attempts": Whole(1, _SMALLINT.max),
    "run_at": TimestampRange(),
    "delay": DurationRange(),
    "tags": Names(100, 200),
    "pools": Names(20, _NAME.max),
    "limits": Names(10, _NAME.max),
    "after": Count(100_000),
    "options": Bytes(65_536),
    "budget": Count(50),
    "unit": Text(200),
    "amount": Number(0, LARGEST_AMOUNT),
}

# Options of a job.
OPTIONS: Mapping[str, Bound] = {
    "timeout": DurationRange(min=_NO_TIME),
    "deadline": DurationRange(min=_NO_TIME),
    "grace": DurationRange(),
    "ask_for": DurationRange(),
    "close_timeout": DurationRange(),
    "memory": Whole(LEAST_MEMORY, LARGEST_ID),
    "secret": Names(200, _NAME.max),
    "retry_max": Whole(0, MAX_RETRIES),
    "retry_base": DurationRange(),
    "retry_cap": DurationRange(),
    "retry_factor": Number(1, 1000),
    "retry_jitter": Number(0, 1),
    "retry_never": Names(100, _NAME.max),
}

# Operations on jobs, queues, policies and the like.
CONTROL: Mapping[str, Bound] = {
    "reason": Text(2000),
    "actor": _NAME,
    "via": Text(50),
    "verb": Text(100),
    "filter_text": Text(2000),
    "filter_ids": Count(1000),
    "policy": Text(200),
    "policy_spec": Bytes(65_536),
    "strategy": _NAME,
    "token": Text(200),
    "token_lifetime": DurationRange(),
    "pool": _NAME,
    "slot": _NAME,
    "limit": _NAME,
    "rates": Count(10),
    "at_once": Whole(1, 1_000_000),
    "rollback_tasks": Count(100_000),
    "event_name": Text(200),
    "event_key": _NAME,
    "event_payload": Bytes(1 << 20),
    "event_keep": DurationRange(),
    "answer": Bytes(1 << 20),
    "webhook": Text(100),
    "webhook_url": Text(2000),
    "webhook_tasks": Names(100, _NAME.max),
    "webhook_keep": DurationRange(timedelta(days=30)),
    "resume_value": Bytes(MAX_ARGS_BYTES),
    "scale_within": DurationRange(timedelta(days=1), timedelta(seconds=1)),
    "fleet": Whole(0, MAX_FLEET),
}

# Reports of workers and running jobs.
WORKER: Mapping[str, Bound] = {
    "host": Text(255),
    "served": Names(1000, _NAME.max),
    "announced": Count(10_000),
    "announcement": Bytes(262_144),
    "lease": DurationRange(timedelta(days=1)),
    "trouble": Text(2000),
    "problem": Text(10_000),
    "outcomes": Bytes(2 * MAX_RESULT_BYTES),
    "value": Bytes(MAX_RESULT_BYTES),
    "progress": Bytes(65_536),
    "log_line": LOG_LINE,
    "log_level": LOG_LEVEL,
    "artifact": _NAME,
    "artifact_url": Text(4000),
    "artifact_size": Whole(0, LARGEST_ID),
    "step_details": Bytes(1 << 20),
    "step": Text(1000),
}

# How many names one tenant can have at a time. Operators cannot use up what admins need: the last
# lanes are reserved for admins, and what each operator creates has a limit of its own.
TENANT: Mapping[str, Bound] = {
    "lanes": Count(10_000),
    "lanes_for_all": Count(9000),
    "pools_in_all": Count(1000),
    "slots": Count(10_000),
    "limits_in_all": Count(1000),
    "policies": Count(1000),
    "policies_per_operator": Count(100),
    "bulks_per_operator": Count(100),
    "strategies": Count(1000),
    "webhooks": Count(100),
}

GROUPS: Mapping[str, Mapping[str, Bound]] = {
    "A job": JOB,
    "Its options": OPTIONS,
    "Control": CONTROL,
    "Workers and running jobs": WORKER,
    "A tenant": TENANT,
}
BOUNDS: Mapping[str, Bound] = {
    name: bound for group in GROUPS.values() for name, bound in group.items()
}

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\.([a-z]+)\}")


def validation_error(name: str, value: Any) -> str | None:
    """Return why this value of a field is refused, as the end of a sentence, or None."""
    bound = BOUNDS[name]
    assert not isinstance(bound, Bytes)
    return bound.validation_error(value)


def json_error(value: Any, level: int = 0) -> str | None:
    """Return why a value would not come back as JSON, or None.

    NaN, numbers beyond a double and values that are nested too deeply are refused. The methods of
    the plain types are called, because those of subclasses may do anything.
    """
    if level > MAX_LEVELS:
        return f"it is nested more than {MAX_LEVELS} levels deep"
    match value:
        case float() if not isfinite(value):
            return f"{float.__repr__(value)} is not a JSON number"
        case int() if not isinstance(value, bool) and abs(int.__int__(value)) > LARGEST_NUMBER:
            return "a number in it is larger than 1.8e308"
        case dict():
            inner = iter(dict.values(value))
        case list():
            inner = list.__iter__(value)
        case tuple():
            inner = tuple.__iter__(value)
        case set():
            inner = set.__iter__(value)
        case frozenset():
            inner = frozenset.__iter__(value)
        case _:
            return None
    for item in inner:
        if (wrong := json_error(item, level + 1)) is not None:
            return wrong
    return None


def render(sql: str) -> str:
    """Return the SQL of a verb with bounds in place of ``{name.part}``."""
    return _PLACEHOLDER.sub(lambda found: _literal(found[1], found[2]), sql)


def _literal(name: str, part: str) -> str:
    if name == "json":
        values = {"levels": MAX_LEVELS, "deeper": MAX_LEVELS + 1, "max": LARGEST_NUMBER}
        return repr(values[part])
    match getattr(BOUNDS[name], part):
        case timedelta() as limit:
            return f"interval '{limit.total_seconds():f} seconds'"
        case datetime() as limit:
            return f"timestamptz '{limit.isoformat()}'"
        case number:
            return str(number)
