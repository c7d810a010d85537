"""Values as the dashboard shows them."""

import json
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from markupsafe import Markup

from tenure.domain import duration
from tenure.domain.values import nearest_time

# The symbol and the tone of every status, so that it does not depend on colour alone.
MARKS = {
    "pending": ("○", "plain"),
    "scheduled": ("◷", "plain"),
    "waiting": ("◌", "plain"),
    "blocked": ("▥", "plain"),
    "queued": ("○", "plain"),
    "retrying": ("↻", "care"),
    "running": ("▶", "busy"),
    "cancelling": ("◐", "care"),
    "pausing": ("◐", "care"),
    "draining": ("↓", "care"),
    "paused": ("‖", "care"),
    "completed": ("✓", "good"),
    "failed": ("✗", "bad"),
    "cancelled": ("⊘", "plain"),
    "alive": ("▶", "good"),
    "late": ("!", "care"),
    "dead": ("✗", "bad"),
    "retry": ("↻", "bad"),
    "crashed": ("✗", "bad"),
    "stopped": ("⊘", "care"),
    "released": ("←", "plain"),
    "left": ("←", "plain"),
    "initiated": ("◐", "care"),
    "stopping_runners": ("◐", "care"),
    "updating_tasks": ("◐", "care"),
    "cleaning_resources": ("◐", "care"),
    "partial": ("◑", "care"),
    "fine": ("✓", "good"),
    "warning": ("!", "care"),
    "wrong": ("✗", "bad"),
    "free": ("○", "plain"),
    "held": ("▶", "busy"),
    "overdue": ("!", "bad"),
    "open": ("○", "plain"),
    "served": ("○", "plain"),
    "unserved": ("!", "care"),
    "revoked": ("⊘", "plain"),
    "expired": ("⊘", "plain"),
    "valid": ("✓", "good"),
    "on": ("✓", "good"),
    "off": ("‖", "care"),
    "failing": ("!", "care"),
    "delivered": ("✓", "good"),
    "given_up": ("✗", "bad"),
}
_MAX_SHOWN = 200_000  # characters of one value


def plain(status: str) -> str:
    return status.replace("_", " ")


# Lists contain many of these two; in Python they take a fifth of the time of a macro.
@lru_cache(maxsize=100)
def status_mark(status: str) -> Markup:
    """Return a status with its symbol and its tone."""
    symbol, tone = MARKS.get(status, ("•", "plain"))
    return Markup('<span class="status {}"><span aria-hidden="true">{}</span> {}</span>').format(
        tone, symbol, plain(status)
    )


def when(value: datetime | str | None) -> Markup:
    """Return how long ago something was, with the exact time as a tooltip."""
    at = timestamp(value)
    if at is None:
        return Markup()
    return Markup(f"<time {_dated(at)}>{ago(at)}</time>")  # noqa: S704  made of digits


@lru_cache(maxsize=5000)
def _dated(at: datetime) -> str:
    return f'datetime="{machine(at)}" title="{exact(at)}"'


def timestamp(value: datetime | str | None) -> datetime | None:
    return nearest_time(value) if isinstance(value, str) else value


def exact(value: datetime | str | None) -> str:
    at = timestamp(value)
    return "" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def clock(value: datetime | str | None) -> str:
    at = timestamp(value)
    return "" if at is None else f"{at.astimezone(UTC):%H:%M:%S}"


def machine(value: datetime | str | None) -> str:
    at = timestamp(value)
    return "" if at is None else at.astimezone(UTC).isoformat(timespec="milliseconds")


def age(seconds: float) -> str:
    return duration.age(seconds, gap=" ")


def ago(value: datetime | str | None) -> str:
    """Return a time relative to now: 3 m ago, in 2 h."""
    at = timestamp(value)
    if at is None:
        return ""
    return duration.ago((datetime.now(UTC) - at).total_seconds(), gap=" ")


def elapsed(seconds: float | None) -> str:
    """Return a duration as text: 40 ms, 12.5 s, 3 m 20 s, 2 h 5 m."""
    if seconds is None:
        return ""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days} d {hour} h"
    return f"{hours} h {minute} m" if hours else f"{minutes} m {second} s"


def since(earlier: datetime, later: datetime | str | None) -> str:
    """Return the time between two events: +40 ms."""
    at = timestamp(later)
    return "" if at is None else f"+{elapsed(max((at - earlier).total_seconds(), 0))}"


def took(begin: datetime | str, end: datetime | str | None) -> str:
    """Return the time between two timestamps; nothing if the second is not known."""
    first, last = timestamp(begin), timestamp(end)
    return "" if first is None or last is None else elapsed((last - first).total_seconds())


def number(value: float) -> str:
    return f"{value:,}"


def quantity(value: float) -> str:
    """Return a number that may have decimals: 14,500 or 0.25."""
    return f"{value:,.12g}"


def pretty(value: Any) -> str:
    """Return a value as indented JSON; a very long one is truncated, with a note."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    if len(text) <= _MAX_SHOWN:
        return text
    return f"{text[:_MAX_SHOWN]}\n... and {len(text) - _MAX_SHOWN} more characters"


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
