"""The window of a timeline: the part of the time that is shown, in seconds since its start."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isfinite
from typing import NamedTuple

from tenure.errors import InputRefused
from tenure.web.dashboard.formatting import elapsed

WIDTH = 1000  # of a drawing, on any screen
_BESIDE = 1000  # of what is drawn outside the window on each side, for a smooth zoom
_MIN_SECONDS = 0.001
_MAX_SECONDS = 4e9
_MAX_TICKS = 6
_STEPS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30),
    *(60, 120, 300, 600, 1800, 3600, 2 * 3600, 6 * 3600, 12 * 3600, 86_400, 7 * 86_400),
)


class Tick(NamedTuple):
    x: float
    text: str


@dataclass(frozen=True)
class Window:
    first: datetime  # when the timeline starts, wherever the window is
    last: datetime
    since: datetime
    until: datetime

    def x(self, at: datetime) -> float:
        share = (at - self.since) / (self.until - self.since)
        return round(min(max(share * WIDTH, -_BESIDE), WIDTH + _BESIDE), 1)

    @property
    def bounds(self) -> tuple[float, float]:
        """Return its ends in seconds since the start of the timeline."""
        return self._seconds(self.since), self._seconds(self.until)

    @property
    def is_whole(self) -> bool:
        return self.since <= self.first and self.until >= self.last

    @property
    def ticks(self) -> list[Tick]:
        """Return round times within the window, as seconds since the start of the timeline."""
        since, until = self.bounds
        step = tick_step(until - since)
        number = -(-since // step)
        found = []
        while number * step <= until:
            at = number * step
            found.append(Tick(round((at - since) / (until - since) * WIDTH, 1), tick_text(at)))
            number += 1
        return found

    def zoomed(self, share: float, shift: float = 0) -> Mapping[str, str | None]:
        """Return the address of a window ``share`` as long, moved by a share of this length."""
        since, until = self.bounds
        whole = max(self._seconds(self.last), _MIN_SECONDS)
        size = max((until - since) * share, _MIN_SECONDS)
        if size >= whole:
            return {"from": None, "to": None}
        middle = (since + until) / 2 + (until - since) * shift
        begin = min(max(middle - size / 2, 0), whole - size)
        return {"from": f"{begin:.3f}", "to": f"{begin + size:.3f}"}

    def _seconds(self, at: datetime) -> float:
        return (at - self.first).total_seconds()


def read_window(
    given: Mapping[str, str], first: datetime
) -> tuple[datetime | None, datetime | None]:
    """Return the ends of the window in an address; none if it shows everything."""
    since, until = (_read_seconds(given, name) for name in ("from", "to"))
    if since is not None and until is not None and until <= since:
        raise InputRefused("to: must be later than from")
    begin, end = (
        None if seconds is None else first + timedelta(seconds=seconds)
        for seconds in (since, until)
    )
    return begin, end


def tick_step(seconds: float) -> float:
    """Return a round step that divides a time into at most six parts."""
    return next((step for step in _STEPS if seconds / step <= _MAX_TICKS), seconds / _MAX_TICKS)


def tick_text(seconds: float) -> str:
    """Return a round time as text: 0, 20 ms, 5 s, 2 m 30 s."""
    if not seconds:
        return "0"
    return f"{seconds:g} s" if 1 <= seconds < 60 else elapsed(seconds).removesuffix(" 0 s")


def _read_seconds(given: Mapping[str, str], name: str) -> float | None:
    text = given.get(name) or None
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not (isfinite(seconds) and 0 <= seconds <= _MAX_SECONDS):
        raise InputRefused(f"{name}: must be a number of seconds since the job was created")
    return seconds
