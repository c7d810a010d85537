"""The overview: queues, workers, and stops in progress."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import Response

from tenure.config import Settings
from tenure.control.checks import longest_stop
from tenure.domain.lifecycle import Status
from tenure.store.calls import diagnosis, queries
from tenure.store.diagnosis_results import OpenStop
from tenure.store.totals import Tally, Totals
from tenure.web.authentication import caller_of
from tenure.web.dashboard.history import history
from tenure.web.dashboard.rendering import render

_MAX_STOPS = 200
_MAX_QUEUES = 200


@dataclass
class QueueRow:
    """The jobs of a queue that have not ended."""

    name: str
    is_paused: bool = False
    is_served: bool = False
    by_status: dict[str, int] = field(default_factory=dict)
    oldest_seconds: float | None = None  # of those that are ready

    @property
    def depth(self) -> int:
        return self.by_status.get(Status.QUEUED, 0)


@dataclass(frozen=True)
class StopRow:
    """A stop in progress."""

    stop: OpenStop
    late: float | None  # seconds since it should have ended; none: it has no limit

    @property
    def is_overdue(self) -> bool:
        return self.late is not None and self.late > 0


async def overview(request: Request) -> Response:
    caller = caller_of(request)
    settings = caller.client.settings
    totals = await caller.asend(queries.totals(settings.stop_grace))
    found = await caller.asend(diagnosis.stops(_MAX_STOPS))
    stops = stop_rows(found, settings)
    queues, left_out = foremost(queues_of(totals))
    alive: dict[str, int] = defaultdict(int)
    for jobs in totals.jobs:
        alive[jobs.status] += jobs.n
    return render(
        request,
        "overview.html",
        queues=queues,
        left_out=left_out,
        alive=alive,
        totals=totals,
        stops=stops,
        overdue=sum(stop.is_overdue for stop in stops),
        events={tally.labels[0]: tally.n for tally in totals.tally if tally.kind == "event"},
        stop_times=_stop_times(totals),
        history=await history(request),
        live="/live",
        every=5,
    )


async def list_queues(request: Request) -> Response:
    caller = caller_of(request)
    totals = await caller.asend(queries.totals(caller.client.settings.stop_grace))
    queues, left_out = foremost(queues_of(totals))
    return render(request, "queues.html", queues=queues, left_out=left_out, live="/live")


def queues_of(totals: Totals) -> list[QueueRow]:
    queues: dict[str, QueueRow] = {}
    for jobs in totals.jobs:
        queue = queues.setdefault(jobs.queue, QueueRow(jobs.queue))
        queue.by_status[jobs.status] = jobs.n
        queue.is_served = jobs.served
        if jobs.status == Status.QUEUED:
            queue.oldest_seconds = jobs.oldest_seconds
    for name in totals.paused:
        if name:  # else it is the tenant itself
            queues.setdefault(name, QueueRow(name)).is_paused = True
    return [queues[name] for name in sorted(queues)]


def foremost(queues: Sequence[QueueRow]) -> tuple[list[QueueRow], int]:
    """Return the queues to show, by name, and the number of those left out.

    Paused queues and those with the most jobs are shown: a client can create thousands.
    """
    ranked = sorted(queues, key=lambda queue: (not queue.is_paused, -sum(queue.by_status.values())))
    shown = ranked[:_MAX_QUEUES]
    return sorted(shown, key=lambda queue: queue.name), len(ranked) - len(shown)


def stop_rows(stops: Sequence[OpenStop], settings: Settings) -> list[StopRow]:
    """Return the stops in progress, the most overdue first."""
    found = []
    for stop in stops:
        longest = longest_stop(stop, settings)
        late = (
            None
            if longest is None
            else stop.seconds - (longest + _notice_time(settings)).total_seconds()
        )
        found.append(StopRow(stop, late))
    return sorted(found, key=lambda row: -(row.late if row.late is not None else -1e9))


def _notice_time(settings: Settings) -> timedelta:
    """Return how long a worker may take to notice a stop if no notification reaches it."""
    return settings.beat + timedelta(seconds=5)


def _stop_times(totals: Totals) -> list[tuple[str, float]]:
    """Return the p50 and p95 of the time from a stop to the end of the job."""
    runners = [tally for tally in totals.tally if tally.kind == "runner"]
    if not runners:
        return []
    return [
        (name, _quantile(runners, share, totals)) for name, share in (("p50", 0.5), ("p95", 0.95))
    ]


def _quantile(tallies: Sequence[Tally], share: float, totals: Totals) -> float:
    wanted = share * sum(tally.n for tally in tallies)
    seen = 0
    for bucket, bound in enumerate(totals.bounds):
        seen += sum(tally.n for tally in tallies if tally.bucket == bucket)
        if seen >= wanted:
            return bound
    return float("inf")
