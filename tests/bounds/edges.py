"""Values at the edges of a bound, and just beyond them."""

from datetime import timedelta
from typing import Any

from tenure.domain.bounds import (
    MOST_LEVELS,
    Bound,
    Bytes,
    Count,
    DurationRange,
    Names,
    Number,
    Text,
    TimestampRange,
    Whole,
)
from tenure.domain.duration import in_words

SECOND = timedelta(seconds=1)


def within(bound: Bound) -> list[Any]:
    """Values that every door takes."""
    match bound:
        case Text(most):
            return ["x", "ü" * most, "a 'quoted' \\ \"name\"\n€😀"[:most]]
        case Names(most, each):
            return [[], ["ü" * each], [f"n{number}" for number in range(most)]]
        case Whole(least, most):
            return [least, most]
        case Number(least, most):
            return [least, most]
        case DurationRange(most, least):
            return [in_words(least), in_words(most)]
        case TimestampRange(earliest, latest):
            return [earliest.isoformat(), (latest - timedelta(days=2)).isoformat()]
        case Bytes():
            return [{"x": nested(MOST_LEVELS - 1)}, {"x": 1.7e308}, {"x": -(10**308)}]
        case Count():
            return []


def beyond(bound: Bound) -> list[Any]:
    """Values that every door refuses: out of range, of another type, of bad characters."""
    odd: list[Any] = [True, {"a": 1}, [["x"]]]
    match bound:
        case Text(most):
            return [*odd, "", "x" * (most + 1), "x" * 100_000, 5, "a\0b", "a\ud800b"]
        case Names(most, each):
            many = [f"n{number}" for number in range(most + 1)]
            return [*odd, many, ["x" * (each + 1)], [""], "x", 5, [5], [None], ["a\0b"]]
        case Whole(least, most):
            return [*odd, least - 1, most + 1, 1.5, "x", 10**400]
        case Number(least, most):
            return [*odd, least - 1, most * 1.01, "x", 10**400]
        case DurationRange(most):
            length = in_words(most + SECOND)
            return [*odd, -1, length, "999999999d", "soon", "infinity", "", 1e300, 10**400]
        case TimestampRange():
            return [
                *odd,
                *("0001-01-01T00:00:00+01:00", "1969-12-31T00:00:00+00:00", "-infinity"),
                *("infinity", "44-03-15 BC", "soon", "10000-01-01T00:00:00+00:00", 5),
            ]
        case Bytes(most):
            deep = [nested(MOST_LEVELS), nested(900), nested(3000)]
            return [
                *(True, 5, "x", [1]),
                *({"x": one} for one in deep),
                *({"x": 10**400}, {"x": -(10**309)}),
                *({"x": "x" * most}, {"x": "a\0b"}, {"x": "a\ud800b"}),
            ]
        case Count():
            return []


def nested(levels: int) -> Any:
    """A value inside so many lists."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value
