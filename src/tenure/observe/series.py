"""Every metric: its name, its help, and who exposes it.

A worker exposes what it did itself. What concerns all workers is read from the database and
exposed by the server alone, so that nothing is counted twice.
"""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Literal

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
MAX_VALUES = 100  # of one label; what comes after is "other"
OTHER = "other"


class Source(StrEnum):
    SERVER = "server"  # at /metrics of `tenure serve`: what is true of the whole tenant
    API = "api"  # also there, for the default tenant alone: what this server did
    WORKER = "worker"  # of `tenure worker --metrics`: what this worker did


@dataclass(frozen=True)
class Series:
    """A metric: its name, kind, labels and meaning."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    source: Source
    labels: tuple[str, ...]
    help: str

    @property
    def shown(self) -> tuple[str, ...]:
        """Return the names under which it is exposed."""
        if self.kind == "histogram":
            return (f"{self.name}_bucket", f"{self.name}_sum", f"{self.name}_count")
        return (self.name,)


def _server(name: str, kind: Literal["counter", "gauge", "histogram"], *texts: str) -> Series:
    *labels, meaning = texts
    return Series(name, kind, Source.SERVER, ("tenant", *labels), meaning)


def _worker(name: str, kind: Literal["counter", "gauge", "histogram"], *texts: str) -> Series:
    *labels, meaning = texts
    return Series(name, kind, Source.WORKER, tuple(labels), meaning)


_ALL = (
    # What is alive.
    _server("jobs", "gauge", "queue", "status", "Jobs that have not ended."),
    _server(
        *("oldest_job_age_seconds", "gauge", "queue", "status"),
        "How long the oldest of them has waited, or run.",
    ),
    _server("unserved_jobs", "gauge", "queue", "Ready jobs of a queue that no worker serves."),
    _server("unrunnable_jobs", "gauge", "task", "Jobs of a task that no live worker has."),
    _server("queue_paused", "gauge", "queue", "1 while the queue, or its tenant, is paused."),
    _server("zombies", "gauge", "Running jobs whose worker's lease is over."),
    _server("workers", "gauge", "status", "Workers that are alive, draining or late."),
    _server(
        *("workers_wanted", "gauge", "queue", "kind"),
        "Workers whose slots the jobs fill that run or could start, as a fraction.",
    ),
    # Stops.
    _server(
        *("cancellation_requests_total", "counter", "intent", "origin"),
        "Stops that were asked for, by users or by a policy.",
    ),
    _server(
        *("cancellation_duration_seconds", "histogram", "intent"),
        "From the request of a stop until its record was closed.",
    ),
    _server(
        *("cancellation_failures_total", "counter", "status"),
        "Stops that ended partial or failed.",
    ),
    _server("stops_open", "gauge", "intent", "Stops under way."),
    _server(
        *("stops_overdue", "gauge"),
        "Stops open for longer than their grace and half a minute.",
    ),
    _server(
        *("stop_confirmed_seconds", "histogram", "rung"),
        "From the request of a stop until the code of a job was gone.",
    ),
    _server(
        *("runners_terminated_total", "counter", "rung"),
        "Running jobs that were stopped, by the last rung of the ladder.",
    ),
    # What went wrong.
    _server("jobs_recovered_total", "counter", "Jobs taken back from dead workers."),
    _server(
        *("late_writes_refused_total", "counter"),
        "Writes of workers that did not hold the job any more.",
    ),
    _server("webhook_deliveries_pending", "gauge", "Messages to webhooks that are still tried."),
    _server("webhooks_failing", "gauge", "Webhooks to which nothing can be delivered now."),
    Series(
        *("requests_not_recognized_total", "counter", Source.API, ()),
        "Requests without a token, or with one that is not valid.",
    ),
    # What a worker did.
    _worker("jobs_claimed_total", "counter", "tenant", "queue", "Attempts begun."),
    _worker("jobs_ended_total", "counter", "tenant", "queue", "outcome", "Attempts ended."),
    _worker("job_run_seconds", "histogram", "tenant", "queue", "From a runner until the end."),
    _worker(
        *("job_wait_seconds", "histogram", "tenant", "queue"),
        "From the time a job was due until a worker claimed it.",
    ),
    _worker(
        *("rungs_reached_total", "counter", "rung", "cause"),
        "Steps of the ladder: stops, and what passed a limit, was drained or preempted.",
    ),
    _worker(
        *("resources_cleaned_total", "counter", "outcome"),
        "Resources of jobs that were closed: graceful, forced or failed.",
    ),
    _worker(
        *("orphan_processes_reaped_total", "counter"),
        "Processes of killed workers on this host that were ended.",
    ),
    _worker("loops_blocked_total", "counter", "Times a job held its event loop for too long."),
    _worker(
        *("webhook_attempts_total", "counter", "tenant", "outcome"),
        "Requests to webhooks: delivered or failed.",
    ),
    _worker("exchange_seconds", "histogram", "One exchange with the database: ends and claims."),
    _worker("listener_live", "gauge", "1 while notifications of the database arrive."),
)

SERIES = MappingProxyType({series.name: series for series in _ALL})


def of(source: Source) -> tuple[Series, ...]:
    return tuple(series for series in _ALL if series.source is source)
