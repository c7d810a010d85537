"""Metric families in the form of Prometheus, and labels with a limit."""

from collections.abc import Iterable, Mapping, Sequence

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from tenure.observe.series import MAX_VALUES, OTHER, SERIES

Labels = tuple[str, ...]
Buckets = Sequence[tuple[str, float]]  # upper bounds, and how many are below each


def family(prefix: str, name: str, values: Mapping[Labels, float]) -> Metric:
    """Return a counter or a gauge."""
    series = SERIES[name]
    kind = CounterMetricFamily if series.kind == "counter" else GaugeMetricFamily
    made = kind(prefix + name, series.help, labels=series.labels)
    for labels, value in values.items():
        made.add_metric(labels, value)
    return made


def histogram(prefix: str, name: str, rows: Iterable[tuple[Labels, Buckets, float]]) -> Metric:
    """Return a histogram; each row has its labels, its buckets and their sum."""
    series = SERIES[name]
    family = HistogramMetricFamily(prefix + name, series.help, labels=series.labels)
    for labels, buckets, total in rows:
        family.add_metric(labels, buckets, total)
    return family


def cumulative(bounds: Sequence[float], counts: Sequence[float]) -> list[tuple[str, float]]:
    """Return cumulative buckets: each includes those below it."""
    buckets, so_far = [], 0.0
    for bound, n in zip([*map(str, bounds), "+Inf"], counts, strict=True):
        so_far += n
        buckets.append((bound, so_far))
    return buckets


class BoundedLabel:
    """The first values of a label as they are, and "other" for the rest.

    Producers name queues, and each name would be a series forever.
    """

    def __init__(self, limit: int = MAX_VALUES) -> None:
        self._limit = limit
        self._known: set[str] = set()

    def __call__(self, value: str) -> str:
        if value in self._known:
            return value
        if len(self._known) >= self._limit:
            return OTHER
        self._known.add(value)
        return value
