"""The metrics of a whole tenant, read from the database and exposed by the server alone."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from tenure.config import Settings
from tenure.domain.lifecycle import Intent, Rung
from tenure.observe.families import BoundedLabel, Labels, cumulative, family, histogram
from tenure.store.call import Call
from tenure.store.calls import queries
from tenure.store.scale_results import Scale
from tenure.store.totals import Tally, Totals

CONTENT_TYPE = CONTENT_TYPE_LATEST
FRESH_FOR = 5.0  # seconds; a scrape within them gets the same answer

Send = Callable[[Call[Any]], Awaitable[Any]]
Values = dict[Labels, float]


class DatabaseMetrics:
    """The metrics of all tenants of a server; it remembers what it has exposed."""

    def __init__(self, settings: Settings, *, fresh_for: float = FRESH_FOR) -> None:
        self._prefix = settings.metrics_prefix or ""
        self._calls = (queries.totals(settings.stop_grace), queries.scale())
        self._fresh_for = fresh_for
        self._tenants: dict[str, _Tenant] = {}

    async def page(self, tenant: str, send: Send) -> bytes:
        """Return the page for Prometheus; ``send`` performs a call for the caller."""
        seen = self._tenants.setdefault(tenant, _Tenant(tenant, self._prefix))
        async with seen.querying:
            if time.monotonic() >= seen.fresh_until:
                seen.totals, seen.scale = [await send(call) for call in self._calls]
                seen.fresh_until = time.monotonic() + self._fresh_for
            return generate_latest(seen)


class Rising:
    """Counts that never fall, also when the rows they were counted from are gone."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, ...], tuple[float, float]] = {}

    def __call__(self, value: float, *key: str) -> float:
        before, shown = self._seen.get(key, (0.0, 0.0))
        shown += max(value - before, 0.0)
        self._seen[key] = (value, shown)
        return shown


class _Tenant(Collector):
    """The series of one tenant, as of the last query."""

    def __init__(self, tenant: str, prefix: str) -> None:
        self._tenant = tenant
        self._prefix = prefix
        self._queue = BoundedLabel()
        self._task = BoundedLabel()
        self._origin = BoundedLabel()
        self._rising = Rising()
        self.querying = asyncio.Lock()
        self.fresh_until = 0.0
        self.totals: Totals
        self.scale: Scale

    def collect(self) -> Iterator[Metric]:
        yield from self._alive()
        yield from self._stops()
        events = {"recovered": 0, "refused": 0}
        events.update((tally.labels[0], tally.n) for tally in self._tallies("event"))
        yield self._counter("jobs_recovered_total", {(): events["recovered"]})
        yield self._counter("late_writes_refused_total", {(): events["refused"]})
        yield self._gauge("webhook_deliveries_pending", {(): self.totals.deliveries_pending})
        yield self._gauge("webhooks_failing", {(): self.totals.webhooks_failing})

    def _alive(self) -> Iterator[Metric]:
        totals = self.totals
        jobs: Values = defaultdict(float)
        ages: Values = defaultdict(float)
        unserved: Values = defaultdict(float)
        paused: Values = defaultdict(float)
        for alive in totals.jobs:
            queue = self._queue(alive.queue)
            jobs[queue, alive.status] += alive.n
            ages[queue, alive.status] = max(ages[queue, alive.status], alive.oldest_seconds)
            if alive.status == "queued":
                unserved[(queue,)] += 0 if alive.served else alive.n
            stands = "" in totals.paused or alive.queue in totals.paused
            paused[(queue,)] = max(paused[(queue,)], float(stands))
        yield self._gauge("jobs", jobs)
        yield self._gauge("oldest_job_age_seconds", ages)
        yield self._gauge("unserved_jobs", unserved)
        unrunnable: Values = defaultdict(float)
        for task in totals.unrunnable:
            unrunnable[(self._task(task.task),)] += task.jobs
        yield self._gauge("unrunnable_jobs", unrunnable)
        yield self._gauge("queue_paused", paused)
        yield self._gauge("zombies", {(): totals.zombies})
        statuses = ("alive", "draining", "late")
        yield self._gauge(
            "workers", {(status,): totals.workers.get(status, 0) for status in statuses}
        )

        wanted: Values = defaultdict(float)
        for work in self.scale.work:
            wanted[self._queue(work.queue), work.kind] += work.workers
        yield self._gauge("workers_wanted", wanted)

    def _stops(self) -> Iterator[Metric]:
        asked: Values = {(intent, "user"): 0.0 for intent in Intent}
        opened: Values = {(intent,): 0.0 for intent in Intent}
        failed: Values = {("partial",): 0.0, ("failed",): 0.0}
        closed: list[tuple[Labels, Tally]] = []
        for tally in self._tallies("record"):
            intent, origin, ending = tally.labels
            origin = self._origin(origin)
            asked[intent, origin] = asked.get((intent, origin), 0) + tally.n
            if ending == "open":
                opened[(intent,)] += tally.n
            else:
                closed.append(((intent,), tally))
            if (ending,) in failed:
                failed[(ending,)] += tally.n
        runners = [(tally.labels, tally) for tally in self._tallies("runner")]
        terminated: Values = {(rung,): 0.0 for rung in Rung}
        for labels, tally in runners:
            terminated[labels] = terminated.get(labels, 0) + tally.n
        yield self._counter("cancellation_requests_total", asked)
        yield self._histogram("cancellation_duration_seconds", closed)
        yield self._counter("cancellation_failures_total", failed)
        yield self._gauge("stops_open", opened)
        yield self._gauge("stops_overdue", {(): self.totals.overdue})
        yield self._histogram("stop_confirmed_seconds", runners)
        yield self._counter("runners_terminated_total", terminated)

    def _tallies(self, kind: str) -> Iterator[Tally]:
        return (tally for tally in self.totals.tally if tally.kind == kind)

    def _gauge(self, name: str, values: Values) -> Metric:
        return family(self._prefix, name, {self._with_tenant(key): n for key, n in values.items()})

    def _counter(self, name: str, values: Values) -> Metric:
        risen = {self._with_tenant(key): self._rising(n, name, *key) for key, n in values.items()}
        return family(self._prefix, name, risen)

    def _histogram(self, name: str, tallies: list[tuple[Labels, Tally]]) -> Metric:
        bounds = self.totals.bounds
        counts: dict[Labels, list[float]] = defaultdict(lambda: [0.0] * (len(bounds) + 1))
        sums: dict[Labels, float] = defaultdict(float)
        for labels, tally in tallies:
            counts[labels][tally.bucket] += tally.n
            sums[labels] += tally.seconds
        rows = []
        for labels, found in counts.items():
            heap = cumulative(bounds, found)
            buckets = [(bound, self._rising(n, name, bound, *labels)) for bound, n in heap]
            total = self._rising(sums[labels], name, "sum", *labels)
            rows.append((self._with_tenant(labels), buckets, total))
        return histogram(self._prefix, name, rows)

    def _with_tenant(self, labels: Labels) -> Labels:
        return (self._tenant, *labels)
