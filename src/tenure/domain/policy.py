"""A policy: which jobs are stopped, when and how."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from tenure.domain.bounds import LONGEST
from tenure.domain.duration import duration, in_words
from tenure.domain.job import JSON
from tenure.domain.lifecycle import Intent
from tenure.domain.options import read_text
from tenure.domain.values import refusals_about, shown
from tenure.errors import InputRefused

# Filters of lists, bulk operations and policies; the database checks their values.
FILTERS = (
    *("id", "status", "state", "queue", "task", "target", "owner", "tag", "key"),
    *("parent", "root", "worker", "text", "since", "until"),
)
SEVERAL = ("id", "status", "tag", "text")  # filters that take more than one value
GROUPS = ("queue", "task", "tag")  # by which an error rate is counted
MAX_JOBS = 1000  # of an error rate


def read_policy(spec: Mapping[str, Any]) -> dict[str, JSON]:
    """Return a policy as JSON, with durations as text; refuse a wrong one."""
    spec = _mapping("a policy", spec)
    _refuse_unknown("a policy", spec, _PARTS)
    if spec.get("when") is None:
        raise InputRefused(f"a policy needs a condition: one or more of {', '.join(_CONDITIONS)}")
    read = {name: _PARTS[name](value) for name, value in spec.items() if value is not None}
    rate = read["when"].get("error_rate")
    if rate and rate.get("by") == "tag" and "tag" not in read.get("filter", {}):
        raise InputRefused("an error rate by tag needs a tag in the filter")
    if rate and rate.get("by") == "tag" and isinstance(read["filter"]["tag"], list):
        raise InputRefused("an error rate by tag needs a filter with a single tag")
    return read


def read_filter(written: Any) -> dict[str, JSON]:
    """Return a filter of jobs as JSON; a timestamp may be a datetime."""
    filters = _mapping("a filter of jobs", written)
    for name in filters:
        if name not in FILTERS:
            raise InputRefused(
                f"jobs cannot be filtered by {shown(name)}; the filters are {', '.join(FILTERS)}"
            )
    return {
        name: _timestamp(name, value) if isinstance(value, datetime) else value
        for name, value in filters.items()
    }


def _when(written: Any) -> dict[str, JSON]:
    conditions = _mapping("when", written)
    if not conditions:
        raise InputRefused(f"a policy needs a condition: one or more of {', '.join(_CONDITIONS)}")
    _refuse_unknown("when", conditions, _CONDITIONS)
    return {name: _CONDITIONS[name](name, value) for name, value in conditions.items()}


def _intent(value: Any) -> str:
    if value not in tuple(Intent):
        raise InputRefused(f"a policy cancels or pauses; {shown(value)} is neither")
    return str(value)


def _timestamp(name: str, value: Any) -> str:
    """Return a timestamp with its time zone; without one it would be ambiguous."""
    try:
        timestamp = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise InputRefused(
            f"{name}: it takes a time such as '2030-01-31T12:00:00Z', not {shown(value)}"
        ) from None
    if timestamp.tzinfo is None:
        raise InputRefused(f"{name}: {value} has no time zone; give it one")
    return timestamp.isoformat()


def _duration(name: str, value: Any) -> str:
    with refusals_about(name):
        read = duration(value)
    if not timedelta(0) < read <= LONGEST:
        raise InputRefused(f"{name}: it must be longer than 0s, and at most {LONGEST.days} days")
    return in_words(read)


def _true(name: str, value: Any) -> bool:
    if value is not True:
        raise InputRefused(f"{name}: it is True or left out, not {shown(value)}")
    return True


def _budget(name: str, value: Any) -> dict[str, JSON]:
    units = _mapping(name, value)
    if not units:
        raise InputRefused(f"{name}: it takes {{'unit': share}} or {{'unit': {{'above': amount}}}}")
    for unit, limit in units.items():
        share = _is_number(limit) and 0 < limit <= 1
        amount = isinstance(limit, Mapping) and set(limit) == {"above"} and _counts(limit["above"])
        if not share and not amount:
            raise InputRefused(
                f"{name}: it takes a share of the budget of {unit} above 0 and up to 1, or "
                f"{{'above': amount}}, not {shown(limit)}"
            )
    return dict(units)


def _error_rate(name: str, value: Any) -> dict[str, JSON]:
    rate = _mapping(name, value)
    _refuse_unknown(name, rate, ("above", "of", "within", "by"))
    above: Any = rate.get("above")
    of = rate.get("of", 20)
    if not _is_number(above) or not 0 <= above < 1:
        raise InputRefused(f"{name}: 'above' is a share from 0 to less than 1, not {shown(above)}")
    if isinstance(of, bool) or not isinstance(of, int) or not 1 <= of <= MAX_JOBS:
        raise InputRefused(
            f"{name}: 'of' is a number of jobs from 1 to {MAX_JOBS}, not {shown(of)}"
        )
    if (by := rate.get("by", "queue")) not in GROUPS:
        raise InputRefused(f"{name}: 'by' is {', '.join(GROUPS)}, not {shown(by)}")
    return {**rate, "within": _duration(f"{name}: 'within'", rate.get("within", "1h"))}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _counts(amount: Any) -> bool:
    return _is_number(amount) and 0 <= amount < float("inf")


def _mapping(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InputRefused(f"{name}: it takes names with their values, not {shown(value)}")
    return dict(value)


def _refuse_unknown(what: str, names: Mapping[str, Any], known: Any) -> None:
    for name in names:
        if name not in known:
            raise InputRefused(f"{what} has no {shown(name)}; it has {', '.join(known)}")


_CONDITIONS: Mapping[str, Callable[[str, Any], JSON]] = {
    "at": _timestamp,
    "age": _duration,
    "running": _duration,
    "waiting": _duration,
    "budget": _budget,
    "parent_failed": _true,
    "superseded": _true,
    "error_rate": _error_rate,
}

_PARTS: Mapping[str, Callable[[Any], Any]] = {
    "filter": read_filter,
    "when": _when,
    "intent": _intent,
    "strategy": partial(read_text, "strategy"),
    "reason": partial(read_text, "reason"),
}
