"""The history as charts: bars for counts, bands between p50 and p95 for times.

A chart is stretched to the available width, so it contains no text; labels next to it are evenly
spaced.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import log10
from operator import attrgetter

from tenure.store.rollups import EndCountsAt, History
from tenure.web.dashboard.formatting import elapsed

STEP = 10  # the width of a bucket
HEIGHT = 100
_GAP = 1
_MIN_HEIGHT = 2.5  # of a bar, however small its share
TIMES = {
    0.001: "1 ms", 0.01: "10 ms", 0.1: "100 ms", 1: "1 s", 10: "10 s", 60: "1 m", 600: "10 m",
    3600: "1 h", 36_000: "10 h", 86_400: "1 d", 864_000: "10 d", 8_640_000: "100 d",
}  # fmt: skip
_MAX_TICKS = 6


@dataclass(frozen=True)
class Bucket:
    """A bucket with its tooltip."""

    x: int
    text: str


@dataclass(frozen=True)
class ChartPath:
    tone: str
    d: str


@dataclass(frozen=True)
class Chart:
    id: str
    name: str
    figures: tuple[tuple[str, str], ...]  # of the whole time span: a name, if any, and a value
    description: str  # for screen readers
    ticks: tuple[str, ...]  # from top to bottom
    paths: tuple[ChartPath, ...]
    buckets: tuple[Bucket, ...]
    width: int
    unit: str = ""
    is_bad: bool = False

    @property
    def lines(self) -> list[float]:
        """Return the heights of the ticks."""
        return [round(HEIGHT * n / (len(self.ticks) - 1), 1) for n in range(len(self.ticks))]


def charts(history: History) -> tuple[Chart, ...]:
    return (
        _counts(history, "completed", "good"),
        _counts(history, "failed", "bad"),
        _times(history, "wait"),
        _times(history, "run"),
    )


def hours(history: History) -> tuple[str, ...]:
    """Return the times below a chart, evenly spaced."""
    step = timedelta(seconds=history.step_seconds) * _slots(history) / 4
    return tuple(_clock(history.since + n * step) for n in range(5))


def span_of(history: History, bucket: EndCountsAt) -> str:
    end = bucket.at + timedelta(seconds=history.step_seconds)
    so_far = ", so far" if end > history.until else ""
    return f"{_clock(bucket.at)} to {_clock(end)}{so_far}"


def _slots(history: History) -> int:
    """Return the number of buckets up to the end of this quarter of an hour."""
    in_a_quarter = max(round(900 / history.step_seconds), 1)
    return -(-len(history.buckets) // in_a_quarter) * in_a_quarter


def _clock(at: datetime) -> str:
    return f"{at.astimezone(UTC):%H:%M}"


def _counts(history: History, kind: str, tone: str) -> Chart:
    counts: list[int] = [getattr(bucket, kind) for bucket in history.buckets]
    peak_count, whole = max(counts), sum(counts)
    top = _round_up(peak_count)
    bars = "".join(_bar(place, n / top) for place, n in enumerate(counts) if n)
    peak = history.buckets[counts.index(peak_count)]
    description = f"{whole:,} {kind} in all. "
    description += f"Maximum: {peak_count:,}, {span_of(history, peak)}." if whole else "None."
    return Chart(
        kind,
        kind.capitalize(),
        (("", f"{whole:,}"),),
        description,
        (f"{top:,}", f"{top // 2:,}" if top % 2 == 0 else "", "0"),
        (ChartPath(tone, bars),),
        _buckets(history, lambda bucket: f"{getattr(bucket, kind):,} {kind}"),
        STEP * _slots(history),
        unit=f"per {history.step_seconds / 60:.0f} min",
        is_bad=tone == "bad" and whole > 0,
    )


def _times(history: History, kind: str) -> Chart:
    names = ("p50", "p95")
    quantiles = attrgetter(*(f"{kind}_{name}" for name in names))
    low, high = zip(*map(quantiles, history.buckets), strict=True)
    ticks = _ticks([value for value in (*low, *high) if value is not None])
    whole = quantiles(history.total)

    def text(values: Sequence[float | None]) -> str:
        if values[0] is None:
            return "no job was started"
        return ", ".join(
            f"{name} {elapsed(value)}" for name, value in zip(names, values, strict=True)
        )

    return Chart(
        kind,
        kind.capitalize(),
        tuple(
            (name, "none" if value is None else elapsed(value))
            for name, value in zip(names, whole, strict=True)
        ),
        f"{kind.capitalize()} of jobs that completed or failed. In all: {text(whole)}.",
        tuple(TIMES[tick] for tick in reversed(ticks)),
        (
            ChartPath("band", _band(low, high, ticks)),
            ChartPath("p95", _line(high, ticks)),
            ChartPath("p50", _line(low, ticks)),
        ),
        _buckets(history, lambda bucket: text(quantiles(bucket))),
        STEP * _slots(history),
    )


def _buckets(history: History, text: Callable[[EndCountsAt], str]) -> tuple[Bucket, ...]:
    return tuple(
        Bucket(STEP * index, f"{span_of(history, bucket)}: {text(bucket)}")
        for index, bucket in enumerate(history.buckets)
    )


def _bar(place: int, share: float) -> str:
    height = round(max(share * HEIGHT, _MIN_HEIGHT), 1)
    return f"M{STEP * place + _GAP} {HEIGHT}v-{height}h{STEP - 2 * _GAP}v{height}z"


def _line(values: Sequence[float | None], ticks: Sequence[float]) -> str:
    """Draw a line, level in each bucket, with gaps where no job ran."""
    drawn, before = [], None
    for place, value in enumerate(values):
        if value is not None:
            y = _y(value, ticks)
            drawn.append(f"{'M' if before is None else 'L'}{STEP * place} {y}h{STEP}")
        before = value
    return "".join(drawn)


def _band(low: Sequence[float | None], high: Sequence[float | None], ticks: Sequence[float]) -> str:
    drawn = []
    for place, (below, above) in enumerate(zip(low, high, strict=True)):
        if below is not None and above is not None:
            top, bottom = _y(above, ticks), _y(below, ticks)
            drawn.append(f"M{STEP * place} {top}h{STEP}V{bottom}h-{STEP}z")
    return "".join(drawn)


def _ticks(values: Sequence[float]) -> list[float]:
    """Return round times that enclose all values; every second if there are too many."""
    rounds = list(TIMES)
    if not values:
        return rounds[1:4]
    first = max(sum(tick <= min(values) for tick in rounds) - 1, 0)
    last = max(sum(tick < max(values) for tick in rounds), first + 1)
    last = min(last, len(rounds) - 1)
    every = 1 if last - first < _MAX_TICKS else 2
    return rounds[first : last + every : every]


def _y(value: float, ticks: Sequence[float]) -> float:
    """Return the height of a time; between two evenly spaced ticks, the scale is logarithmic."""
    value = min(max(value, ticks[0]), ticks[-1])
    place = max(sum(tick <= value for tick in ticks[:-1]) - 1, 0)
    share = log10(value / ticks[place]) / log10(ticks[place + 1] / ticks[place])
    return round(HEIGHT * (1 - (place + share) / (len(ticks) - 1)), 1)


def _round_up(peak_count: int) -> int:
    """Return the next round number, preferably an even one."""
    size = 1
    while True:
        for step in (1, 2, 3, 4, 6, 8):
            if step * size >= peak_count:
                return step * size
        size *= 10
