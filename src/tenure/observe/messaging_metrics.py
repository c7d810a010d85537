"""Metrics by the semantic conventions for messaging, in programs that have set up OpenTelemetry."""

import sys
import time
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, Self

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
_LABELS = ("messaging.system", "messaging.operation.name", "messaging.destination.name")


class Measure(NamedTuple):
    """An operation that is counted and timed when it ends."""

    began: float
    jobs: int
    type: str
    labels: Mapping[str, Any]

    @classmethod
    def begin(cls, attributes: Mapping[str, Any]) -> Self | None:
        """Return the measure of an operation with these attributes; None if nobody reads it."""
        metrics: Any = sys.modules.get("opentelemetry.metrics")
        if metrics is None or type(metrics.get_meter_provider()).__name__ == "_ProxyMeterProvider":
            return None
        labels = {name: attributes[name] for name in _LABELS if name in attributes}
        jobs = attributes.get("messaging.batch.message_count", 1)
        return cls(time.perf_counter(), jobs, attributes["messaging.operation.type"], labels)

    def end(self, error: str | None) -> None:
        labels = dict(self.labels) if error is None else {**self.labels, "error.type": error}
        messages, duration = _instruments()[self.type]
        messages.add(self.jobs, labels)
        duration.record(time.perf_counter() - self.began, labels)


@cache
def _instruments() -> Mapping[str, tuple[Any, Any]]:
    """Return the counter and the histogram of each type of operation."""
    from opentelemetry.metrics import get_meter

    meter = get_meter("tenure")

    def made(count: str, time: str) -> tuple[Any, Any]:
        return (
            meter.create_counter(f"messaging.{count}", "{message}"),
            meter.create_histogram(
                f"messaging.{time}", "s", explicit_bucket_boundaries_advisory=_SECONDS
            ),
        )

    return {
        "send": made("client.sent.messages", "client.operation.duration"),
        "process": made("client.consumed.messages", "process.duration"),
    }
