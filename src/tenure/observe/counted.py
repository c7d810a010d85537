"""What a worker counts when somebody looks, and the address where it is shown."""

from collections import Counter as Multiset
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from tenure.domain.lifecycle import Rung
from tenure.errors import SettingInvalid
from tenure.observe.counting import Counting, Ran
from tenure.observe.labels import Bounded
from tenure.observe.series import SECONDS, SERIES
from tenure.store.outcomes import Ending
from tenure.store.results import Claimed

M = TypeVar("M", Counter, Gauge, Histogram)

CAUSES = ("stop", "timeout", "memory", "drain", "preemption")
_RUNGS = [rung.value for rung in Rung if rung is not Rung.EXPIRED]  # what a worker itself does
_CLEANED = {
    "graceful": "graceful_close_succeeded",
    "forced": "force_closed",
    "failed": "failed",
}  # outcome, and where a report names its resources


class Counted(Counting):
    """Lives as long as the process: a worker that starts anew goes on counting."""

    def __init__(self, prefix: str, address: str) -> None:
        # A moment of birth for each series would double them, and Prometheus does not use it.
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        self._prefix = prefix
        self._tenant, self._queue = Bounded(), Bounded()
        self._claimed = self._make(Counter, "jobs_claimed_total")
        self._ended = self._make(Counter, "jobs_ended_total")
        self._ran = self._make(Histogram, "job_run_seconds", buckets=SECONDS)
        self._waited = self._make(Histogram, "job_wait_seconds", buckets=SECONDS)
        self._reached = self._make(Counter, "rungs_reached_total")
        self._cleaned = self._make(Counter, "resources_cleaned_total")
        self._reaped = self._make(Counter, "orphan_processes_reaped_total")
        self._blocked = self._make(Counter, "loops_blocked_total")
        self._exchanged = self._make(Histogram, "exchange_seconds", buckets=SECONDS)
        self._live = self._make(Gauge, "listener_live")
        self._begin_at_zero()
        self._show(address)

    def claimed(self, tenant: str, jobs: Iterable[Claimed]) -> None:
        tenant, queues = self._tenant(tenant), Multiset[str]()
        for job in jobs:
            queue = self._queue(job.queue)
            queues[queue] += 1
            if job.waited_ms is not None:
                self._waited.labels(tenant, queue).observe(max(job.waited_ms, 0) / 1000)
        for queue, n in queues.items():
            self._claimed.labels(tenant, queue).inc(n)

    def ended(self, runs: Iterable[tuple[Ran, Ending | None]], now: float) -> None:
        outcomes = Multiset[tuple[str, str, str]]()
        for run, told in runs:
            tenant, queue = self._tenant(run.tenant), self._queue(run.job.queue)
            outcomes[tenant, queue, _outcome(run, told)] += 1
            if run.started_at is not None:
                self._ran.labels(tenant, queue).observe(now - run.started_at)
        for labels, n in outcomes.items():
            self._ended.labels(*labels).inc(n)

    def reached(self, rung: str, cause: str) -> None:
        self._reached.labels(rung, cause).inc()

    def cleaned(self, report: Mapping[str, Any]) -> None:
        for outcome, place in _CLEANED.items():
            self._cleaned.labels(outcome).inc(len(report.get(place) or ()))

    def reaped(self, processes: int) -> None:
        self._reaped.inc(processes)

    def blocked(self) -> None:
        self._blocked.inc()

    def exchanged(self, seconds: float) -> None:
        self._exchanged.observe(seconds)

    def listens(self, live: Callable[[], bool]) -> None:
        self._live.set_function(lambda: float(live()))

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _begin_at_zero(self) -> None:
        """So that the first time something happens is a rise, and not the birth of a series."""
        for rung in _RUNGS:
            for cause in CAUSES:
                self._reached.labels(rung, cause)
        for outcome in _CLEANED:
            self._cleaned.labels(outcome)

    def _make(self, kind: type[M], name: str, **more: Any) -> M:
        series = SERIES[name]
        return kind(
            self._prefix + name, series.help, series.labels, registry=self._registry, **more
        )

    def _show(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        try:
            self._server, self._thread = start_http_server(
                int(port), host.strip("[]"), self._registry
            )
        except (OSError, OverflowError) as problem:
            raise SettingInvalid(f"metrics: they cannot be shown at {address}: {problem}") from None
        self.address = f"{host}:{self._server.server_port}"


def _outcome(run: Ran, told: Ending | None) -> str:
    if run.lost:
        return "lost"  # what became of it is another worker's to say
    if told is None:
        return "completed"  # by a transaction of its own
    return told.outcome or "crashed"
