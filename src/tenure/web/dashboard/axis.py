"""The time axis of a stop: how long each rung of the ladder lasted, true to scale."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from tenure.domain.cancellation import CancellationMember, CancellationRecord
from tenure.domain.lifecycle import Rung
from tenure.web.dashboard.formatting import elapsed
from tenure.web.dashboard.strip import Cell
from tenure.web.dashboard.window import WIDTH, Tick, tick_step, tick_text

_MIN_WIDTH = 3  # of a period that took no time to speak of
_TONES = {
    "Requested": "wait",
    "Delivered": "wait",
    "Asked": "asked",
    "Interrupted": "interrupted",
    "SIGTERM": "terminated",
    "SIGKILL": "killed",
}
_RUNG_TONES = {
    "delivered": "wait",
    Rung.ASKED: "asked",
    Rung.INTERRUPTED: "interrupted",
    Rung.TERMINATED: "terminated",
    Rung.KILLED: "killed",
}


@dataclass(frozen=True)
class Segment:
    x: float
    width: float
    tone: str
    text: str


@dataclass(frozen=True)
class Point:
    """Where a step stands on the axis, and the line that leads to its card below."""

    x: float
    mark: str
    tone: str
    text: str
    leader: str  # a path


@dataclass(frozen=True)
class Axis:
    begin: datetime
    end: datetime
    segments: tuple[Segment, ...]
    points: tuple[Point, ...]
    ticks: tuple[Tick, ...]
    description: str  # for screen readers

    def x(self, at: datetime) -> float:
        share = (at - self.begin) / (self.end - self.begin)
        return round(min(max(share, 0), 1) * WIDTH, 1)

    def lane(self, member: CancellationMember, now: datetime) -> tuple[Segment, ...]:
        """Return the rungs of one member of the stop on this axis."""
        reached = sorted((at, _RUNG_TONES.get(rung, "wait")) for rung, at in member.reached.items())
        return self._segments([(self.begin, "wait"), *reached], member.ended_at or now)

    def _segments(
        self, reached: Sequence[tuple[datetime, str]], end: datetime, names: Sequence[str] = ()
    ) -> tuple[Segment, ...]:
        found = []
        for number, ((at, tone), (until, _)) in enumerate(pairwise([*reached, (end, "")])):
            if until > at:
                x = self.x(at)
                text = elapsed((until - at).total_seconds())
                if names:
                    text = f"{names[number]}: {text}"
                width = max(round(self.x(until) - x, 1), _MIN_WIDTH)
                found.append(Segment(min(x, WIDTH - width), width, tone, text))
        return tuple(found)


def axis(record: CancellationRecord, cells: Sequence[Cell], now: datetime) -> Axis:
    """Draw the time from the request to the end of the record, or to the last planned rung."""
    begin = record.initiated_at
    reached = sorted(
        (cell.at, cell.name) for cell in cells if cell.at is not None and cell.mark != "ahead"
    )
    ahead = [cell.at for cell in cells if cell.at is not None and cell.mark == "ahead"]
    ended = record.completed_at or now
    end = max(ended, *ahead, *(at for at, _ in reached), begin + timedelta(milliseconds=1))
    empty = Axis(begin, end, (), (), (), "")
    tones = [(at, _TONES.get(name, "closed")) for at, name in reached]
    segments = empty._segments(tones, ended, [name for _, name in reached])
    seconds = (end - begin).total_seconds()
    step = tick_step(seconds)
    ticks = tuple(
        Tick(round(number * step / seconds * WIDTH, 1), tick_text(number * step))
        for number in range(int(seconds / step) + 1)
    )
    description = "; ".join(segment.text for segment in segments)
    return Axis(begin, end, segments, tuple(_points(empty, cells)), ticks, description)


def _points(empty: Axis, cells: Sequence[Cell]) -> list[Point]:
    """Return a point for each step that has a time; its card is below, in a row of equal cards."""
    points = []
    for number, cell in enumerate(cells):
        if cell.at is not None:
            x, card = empty.x(cell.at), round((number + 0.5) / len(cells) * WIDTH, 1)
            leader = f"M{x} 0C{x} 26 {card} 14 {card} 40"
            tone = _TONES.get(cell.name, "closed")
            points.append(Point(x, cell.mark, tone, cell.name, leader))
    return points
