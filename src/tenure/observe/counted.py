"""The metrics of a worker, and the HTTP server that exposes them.

One thread counts and another reads without a lock: a scrape may miss the last microsecond.
"""

import errno
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from prometheus_client import make_wsgi_app, start_http_server
from prometheus_client.core import Metric
from prometheus_client.registry import Collector, CollectorRegistry

from tenure.domain.lifecycle import Rung
from tenure.errors import SettingInvalid
from tenure.observe.counting import Counting, Ran
from tenure.observe.families import BoundedLabel, Labels, cumulative, family, histogram
from tenure.observe.probes import Beginning, Probed, with_probes
from tenure.observe.series import SECONDS, Source, of
from tenure.store.outcomes import Ending
from tenure.store.results import Claimed

CAUSES = ("stop", "timeout", "memory", "drain", "preemption", "runner")
_RUNGS = [rung.value for rung in Rung if rung is not Rung.EXPIRED]  # of a worker itself
_CLEANED = {
    "graceful": "graceful_close_succeeded",
    "forced": "force_closed",
    "failed": "failed",
}  # outcome, and where a report names its resources


class Times:
    """Durations, in buckets."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0.0] * (len(SECONDS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(SECONDS, seconds)] += 1
        self.total += seconds


class Counted(Counting, Collector):
    """Counters that live as long as the process, also when its worker restarts."""

    def __init__(self, prefix: str, address: str) -> None:
        self._prefix = prefix
        self._tenant, self._queue = BoundedLabel(), BoundedLabel()
        # By the name of their series, then by labels.
        self._counts: dict[str, dict[Labels, float]] = defaultdict(lambda: defaultdict(float))
        self._times: dict[str, dict[Labels, Times]] = defaultdict(lambda: defaultdict(Times))
        # Present from the start, so that the first event is an increase and not a new series.
        self._counts["rungs_reached_total"] |= {(r, cause): 0.0 for r in _RUNGS for cause in CAUSES}
        self._counts["resources_cleaned_total"] |= {(outcome,): 0.0 for outcome in _CLEANED}
        for name in ("orphan_processes_reaped_total", "loops_blocked_total"):
            self._counts[name][()] = 0.0
        self._times["exchange_seconds"][()] = Times()
        self._live: Callable[[], bool] = lambda: False
        self._probed: Probed = Beginning()
        self._show(address)

    def claimed(self, tenant: str, jobs: Iterable[Claimed]) -> None:
        tenant = self._tenant(tenant)
        for job in jobs:
            labels = (tenant, self._queue(job.queue))
            self._counts["jobs_claimed_total"][labels] += 1
            if job.waited_ms is not None:
                self._times["job_wait_seconds"][labels].add(max(job.waited_ms, 0) / 1000)

    def ended(self, runs: Iterable[tuple[Ran, Ending | None]], now: float) -> None:
        for run, ending in runs:
            labels = (self._tenant(run.tenant), self._queue(run.job.queue))
            self._counts["jobs_ended_total"][*labels, _outcome(run, ending)] += 1
            if run.started_at is not None:
                self._times["job_run_seconds"][labels].add(now - run.started_at)

    def reached(self, rung: str, cause: str) -> None:
        self._counts["rungs_reached_total"][rung, cause] += 1

    def cleaned(self, report: Mapping[str, Any]) -> None:
        for outcome, place in _CLEANED.items():
            self._counts["resources_cleaned_total"][(outcome,)] += len(report.get(place) or ())

    def reaped(self, processes: int) -> None:
        self._counts["orphan_processes_reaped_total"][()] += processes

    def blocked(self) -> None:
        self._counts["loops_blocked_total"][()] += 1

    def exchanged(self, seconds: float) -> None:
        self._times["exchange_seconds"][()].add(seconds)

    def webhook_attempted(self, tenant: str, *, delivered: bool) -> None:
        outcome = "delivered" if delivered else "failed"
        self._counts["webhook_attempts_total"][self._tenant(tenant), outcome] += 1

    def listens(self, live: Callable[[], bool]) -> None:
        self._live = live

    def probed_as(self, worker: Probed | None) -> None:
        self._probed = worker or Beginning()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def collect(self) -> Iterator[Metric]:
        for series in of(Source.WORKER):
            if series.kind == "counter":
                yield family(self._prefix, series.name, dict(self._counts[series.name]))
            elif series.kind == "histogram":
                rows = list(self._times[series.name].items())
                buckets = [
                    (labels, cumulative(SECONDS, list(took.counts)), took.total)
                    for labels, took in rows
                ]
                yield histogram(self._prefix, series.name, buckets)
        yield family(self._prefix, "listener_live", {(): float(self._live())})

    def _show(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        registry = CollectorRegistry()
        registry.register(self)
        try:
            self._server, self._thread = start_http_server(int(port), host.strip("[]"), registry)
        except (OSError, OverflowError) as problem:
            if getattr(problem, "errno", None) == errno.EADDRINUSE:
                raise SettingInvalid(
                    f"metrics: port {port} of {host} is in use; stop the program that listens "
                    "there, or choose another port"
                ) from None
            raise SettingInvalid(f"metrics: they cannot be shown at {address}: {problem}") from None
        self._server.set_app(with_probes(make_wsgi_app(registry), lambda: self._probed))
        self.address = f"{host}:{self._server.server_port}"


def _outcome(run: Ran, ending: Ending | None) -> str:
    if run.lost:
        return "lost"  # its new worker reports the outcome
    if ending is None:
        return "completed"  # by a transaction of its own
    return ending.outcome or "crashed"
