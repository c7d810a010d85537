"""Durations: "20s" outside, a timedelta inside."""

import re
from datetime import timedelta
from decimal import Decimal

from tenure.domain.values import shown
from tenure.errors import InputRefused

Duration = timedelta | str | int | float  # as it may be given; a number is seconds

_MICROSECONDS = {
    "d": 86_400_000_000,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
    "us": 1,
}
_PARTS = re.compile(
    "".join(rf"(?:([0-9]{{1,20}}(?:\.[0-9]{{1,20}})?){unit}\s*)?" for unit in _MICROSECONDS)
)
_BARE_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def duration(value: Duration) -> timedelta:
    """Return the timedelta for "20s", "1h30m", "500ms", a timedelta, or a number of seconds."""
    if isinstance(value, bool) or not isinstance(value, (timedelta, str, int, float)):
        raise InputRefused(f'{shown(value)} is not a duration; write "20s", "1h30m" or "500ms"')
    try:
        read = _read(value) if isinstance(value, str) else _count(value)
    except (OverflowError, ValueError):
        raise InputRefused(f"{shown(value)} is not a length of time that can be counted") from None
    if read < timedelta(0):
        raise InputRefused(f"a duration cannot be negative, and {in_words(read)} is")
    return read


def in_words(value: timedelta) -> str:
    """Return the text that `duration` reads back; a negative value gets a sign."""
    if value < timedelta(0):
        return f"-{in_words(-value)}"
    rest = value // timedelta(microseconds=1)
    words = ""
    for unit, size in _MICROSECONDS.items():
        amount, rest = divmod(rest, size)
        words += f"{amount}{unit}" if amount else ""
    return words or "0s"


def age(seconds: float, gap: str = "") -> str:
    """Return an age in its largest unit: 12s, 3m, 2h, 5d."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{gap}{unit}"
    return f"{int(seconds)}{gap}s"


def ago(seconds: float, gap: str = "") -> str:
    """Return how long ago something was, or when it will be: 3m ago, in 2h."""
    if seconds < 0:
        return f"in {age(-seconds, gap)}"
    return "now" if seconds < 1 else f"{age(seconds, gap)} ago"


def _read(text: str) -> timedelta:
    if _BARE_NUMBER.fullmatch(text.strip()):
        number = text.strip() if len(text) < 50 else "20"
        raise InputRefused(f'{shown(text)} has no unit; write "{number}s" if it means seconds')
    parts = _PARTS.fullmatch(text.strip())
    if not parts or not any(parts.groups()):
        raise InputRefused(f'{shown(text)} is not a duration; write "20s", "1h30m" or "500ms"')
    total = sum(
        Decimal(amount) * size
        for amount, size in zip(parts.groups("0"), _MICROSECONDS.values(), strict=True)
    )
    return timedelta(microseconds=round(total))


def _count(value: timedelta | int | float) -> timedelta:
    return value if isinstance(value, timedelta) else timedelta(seconds=value)
