"""Run times as a distribution, drawn on a logarithmic scale."""

from dataclasses import dataclass
from math import log, sqrt

from tenure.store.rollups import TaskRuns
from tenure.web.dashboard.charts import TIMES
from tenure.web.dashboard.formatting import elapsed

WIDTH, HEIGHT = 1000, 100
_BIN = sqrt(1.2)  # half of a bin of the database, as a factor
_MIN_RANGE = 30.0  # from the shortest to the longest time, as a factor
_MIN_HEIGHT = 3.0
_SHARES = (("p50", 0.5), ("p95", 0.95))


@dataclass(frozen=True)
class RunTimeBar:
    x: float
    y: float
    width: float
    height: float
    text: str


@dataclass(frozen=True)
class AxisLabel:
    x: float
    name: str
    text: str

    @property
    def percent(self) -> float:
        return round(self.x / WIDTH * 100, 2)


@dataclass(frozen=True)
class Distribution:
    bars: tuple[RunTimeBar, ...]
    ticks: tuple[AxisLabel, ...]
    marks: tuple[AxisLabel, ...]  # percentiles
    description: str  # for screen readers


def distribution(task: TaskRuns) -> Distribution | None:
    """Draw the run times of a task; none if no job of it has run."""
    if not task.runs:
        return None
    low, high = task.runs[0][0] / _BIN, task.runs[-1][0] * _BIN
    spare = max(sqrt(_MIN_RANGE / (high / low)), _BIN)
    low, high = low / spare, high * spare
    peak = max(n for _, n in task.runs)

    def place(seconds: float) -> float:
        return round(WIDTH * log(seconds / low) / log(high / low), 1)

    bars = []
    for seconds, n in task.runs:
        left, right = place(seconds / _BIN), place(seconds * _BIN)
        height = round(max(HEIGHT * n / peak, _MIN_HEIGHT), 1)
        text = f"about {elapsed(seconds)}: {n:,}"
        bars.append(RunTimeBar(left, HEIGHT - height, round(right - left, 1), height, text))
    found = [(name, task.run_time(share)) for name, share in _SHARES]
    marks = [(name, seconds) for name, seconds in found if seconds is not None]
    return Distribution(
        tuple(bars),
        tuple(
            AxisLabel(place(tick), text, "") for tick, text in TIMES.items() if low < tick < high
        ),
        tuple(AxisLabel(place(seconds), name, elapsed(seconds)) for name, seconds in marks),
        ", ".join(f"{name} {elapsed(seconds)}" for name, seconds in marks),
    )
