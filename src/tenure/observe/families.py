"""Counts as Prometheus reads them."""

from collections.abc import Iterable, Mapping, Sequence

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from tenure.observe.series import SERIES

Labels = tuple[str, ...]
Buckets = Sequence[tuple[str, float]]  # upper bounds, and how many are below each


def gauge(prefix: str, name: str, values: Mapping[Labels, float]) -> Metric:
    series = SERIES[name]
    family = GaugeMetricFamily(prefix + name, series.help, labels=series.labels)
    for labels, value in values.items():
        family.add_metric(labels, value)
    return family


def counter(prefix: str, name: str, values: Mapping[Labels, float]) -> Metric:
    series = SERIES[name]
    family = CounterMetricFamily(prefix + name, series.help, labels=series.labels)
    for labels, value in values.items():
        family.add_metric(labels, value)
    return family


def histogram(prefix: str, name: str, rows: Iterable[tuple[Labels, Buckets, float]]) -> Metric:
    """Each row with its labels, its buckets and the sum over all of them."""
    series = SERIES[name]
    family = HistogramMetricFamily(prefix + name, series.help, labels=series.labels)
    for labels, buckets, total in rows:
        family.add_metric(labels, buckets, total)
    return family


def heaped(bounds: Sequence[float], counts: Sequence[float]) -> list[tuple[str, float]]:
    """Buckets as Prometheus wants them: each holds those below it too."""
    heap, so_far = [], 0.0
    for bound, n in zip([*map(str, bounds), "+Inf"], counts, strict=True):
        so_far += n
        heap.append((bound, so_far))
    return heap
