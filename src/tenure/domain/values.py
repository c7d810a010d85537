"""Values of untrusted code: shown in messages and checked without calling their methods."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from math import isfinite, isnan
from typing import Any

from tenure.errors import InputRefused, SettingInvalid

_MAX_SHOWN = 100  # characters of a value in a message
_LARGEST_INTEGER = 1 << 63
LARGEST_NUMBER = 1.7976931348623157e308  # what a reader can take as a double
_FIRST = datetime(1, 1, 2, tzinfo=UTC)  # a day from the edge, so that it can be shown in any zone
_LAST = datetime(9999, 12, 30, tzinfo=UTC)


def shown(value: object) -> str:
    """Return a value for a message: its repr, shortened, or its type."""
    try:
        text = storable_text(repr(value))
    except Exception:  # noqa: BLE001 - repr is user code
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def storable_text(text: str) -> str:
    """Return the text with escapes in place of what PostgreSQL cannot store."""
    plain = str.__str__(text)
    return plain.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()


def message_text(value: object, what: str) -> str:
    """Return a message as a plain str; refuse a value that cannot be written as one."""
    try:
        return storable_text(str(value))
    except Exception as error:  # noqa: BLE001 - str is user code
        raise InputRefused(
            f"{what}: {shown(value)} cannot be written as a text ({type(error).__name__}); "
            f"give a str"
        ) from None


def name_text(value: Any, what: str, limit: int) -> str:
    """Return a name as a plain str; refuse what cannot be a name."""
    if not isinstance(value, str):
        raise InputRefused(f"{what} is a str, not {shown(value)}")
    name = str.__str__(value)
    if not name or len(name) > limit:
        raise InputRefused(f"{what} has 1 to {limit} characters, and {shown(name)} has {len(name)}")
    if storable_text(name) != name:
        raise InputRefused(f"{what}: {shown(name)} has characters that PostgreSQL cannot store")
    return name


def finite_number(value: Any, what: str) -> int | float:
    """Return a number as a plain int or float; refuse what is not a finite number."""
    if type(value) is int and -_LARGEST_INTEGER <= value < _LARGEST_INTEGER:
        return value
    try:
        if isinstance(value, (bool, str, bytes, bytearray)):
            raise TypeError  # noqa: TRY301 - float() reads some of them
        number = float(value)
        if isfinite(number):
            whole = isinstance(value, int) and abs(number) < _LARGEST_INTEGER
            return int(value) if whole else number
    except Exception:  # noqa: BLE001, S110 - float is user code
        pass
    raise InputRefused(f"{what} is a finite number, not {shown(value)}")


def nearest_time(value: Any) -> datetime:
    """Return the time that PostgreSQL wrote, or the nearest that Python has.

    PostgreSQL knows 'infinity', '-infinity', years before Christ and years of five digits.
    """
    try:
        return min(max(datetime.fromisoformat(value), _FIRST), _LAST)
    except (TypeError, ValueError):
        before = not isinstance(value, str) or value.startswith("-") or value.endswith("BC")
        return _FIRST if before else _LAST


def nearest_float(value: Any) -> float:
    """Return a number as a finite float; 0 for anything else."""
    try:
        number = float(value)
    except OverflowError:
        number = LARGEST_NUMBER if value > 0 else -LARGEST_NUMBER
    except (TypeError, ValueError):
        return 0.0
    return 0.0 if isnan(number) else max(-LARGEST_NUMBER, min(number, LARGEST_NUMBER))


def amount(n: int, singular: str, plural: str | None = None) -> str:
    """Return ``1 job`` or ``2,000 jobs``; the plural is needed only if it is not with an s."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def size_text(size: float) -> str:
    """Return a number of bytes as text: 512 B, 12.3 kB, 4.0 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


@contextmanager
def refusals_about(what: str) -> Iterator[None]:
    """Let a refusal within the block begin with what it is about."""
    try:
        yield
    except InputRefused as refusal:
        raise InputRefused(f"{what}: {refusal}") from None
    except SettingInvalid as refusal:
        raise SettingInvalid(f"{what}: {refusal}") from None
