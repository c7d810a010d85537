"""The overview, and the pages of what its first part names: queues, stops, questions, leaks."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import Response

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.job import Job
from tenure.domain.lifecycle import Status
from tenure.store.calls import diagnosis, queries
from tenure.store.limit_results import DispatchPause
from tenure.store.results import WorkerInfo
from tenure.store.totals import Tally, Totals
from tenure.web.api.workers import workers_of_tenant
from tenure.web.authentication import caller_of
from tenure.web.dashboard.attention import Attention, attention_of
from tenure.web.dashboard.history import history
from tenure.web.dashboard.rendering import render

_MAX_FAILED = 200
_MAX_FAILURES = 8
_FAILED_SINCE = timedelta(hours=24)
_MAX_QUEUES = 200


@dataclass
class QueueRow:
    """The jobs of a queue that have not ended."""

    name: str
    pause: DispatchPause | None = None
    is_served: bool = False
    by_status: dict[str, int] = field(default_factory=dict)
    oldest_seconds: float | None = None  # of those that are ready

    @property
    def depth(self) -> int:
        return self.by_status.get(Status.QUEUED, 0)

    @property
    def others(self) -> dict[str, int]:
        """Return the jobs that neither run nor could, by status."""
        usual = (Status.QUEUED, Status.RUNNING)
        return {status: n for status, n in self.by_status.items() if status not in usual}


@dataclass
class FailedTask:
    """Jobs of a task that failed lately, with the newest error."""

    task: str
    newest: Job
    n: int = 0


async def overview(request: Request) -> Response:
    caller = caller_of(request)
    attention, failures, workers, drawn = await asyncio.gather(
        attention_of(request),
        _failures(caller),
        workers_of_tenant(caller, all=False),
        history(request),
    )
    totals = attention.totals
    queues, left_out = foremost(queues_of(attention))
    return render(
        request,
        "overview.html",
        queues=queues,
        left_out=left_out,
        alive=attention.by_status,
        totals=totals,
        now_needs=attention,
        failures=failures,
        workers=workers,
        load=_load(workers),
        events={tally.labels[0]: tally.n for tally in totals.tally if tally.kind == "event"},
        stop_times=_stop_times(totals),
        history=drawn,
        live="/live",
        every=5,
    )


async def _failures(caller: AuthorizedClient) -> list[FailedTask]:
    """Return the tasks whose jobs failed lately, those with the most first."""
    lately = {"status": "failed", "since": _FAILED_SINCE.total_seconds()}
    found = await caller.asend(queries.list_jobs(lately, n=_MAX_FAILED))
    failures: dict[str, FailedTask] = {}
    for job in found:  # the newest first
        failures.setdefault(job.task or "", FailedTask(job.task or "", job)).n += 1
    return sorted(failures.values(), key=lambda failure: -failure.n)[:_MAX_FAILURES]


def _load(workers: Sequence[WorkerInfo]) -> int:
    """Return the number of jobs that the workers run."""
    return sum(len(worker.jobs) for worker in workers)


async def list_queues(request: Request) -> Response:
    queues, left_out = foremost(queues_of(await attention_of(request)))
    return render(request, "queues.html", queues=queues, left_out=left_out, live="/live")


async def list_stops(request: Request) -> Response:
    stops = (await attention_of(request)).stops
    return render(request, "stops.html", stops=stops, live="/live", every=2 if stops else 5)


async def list_questions(request: Request) -> Response:
    questions = (await attention_of(request)).questions
    return render(request, "questions.html", questions=questions, live="/live", every=5)


async def list_leaks(request: Request) -> Response:
    leaks = await caller_of(request).asend(diagnosis.leaks())
    return render(request, "leaks.html", leaks=leaks, every=10)


def queues_of(attention: Attention) -> list[QueueRow]:
    queues: dict[str, QueueRow] = {}
    for jobs in attention.totals.jobs:
        queue = queues.setdefault(jobs.queue, QueueRow(jobs.queue))
        queue.by_status[jobs.status] = jobs.n
        queue.is_served = jobs.served
        if jobs.status == Status.QUEUED:
            queue.oldest_seconds = jobs.oldest_seconds
    for name, pause in attention.paused("queue").items():
        queues.setdefault(name, QueueRow(name)).pause = pause
    return [queues[name] for name in sorted(queues)]


def foremost(queues: Sequence[QueueRow]) -> tuple[list[QueueRow], int]:
    """Return the queues to show, by name, and the number of those left out.

    Paused queues and those with the most jobs are shown: a client can create thousands.
    """
    ranked = sorted(queues, key=lambda queue: (queue.pause is None, -sum(queue.by_status.values())))
    shown = ranked[:_MAX_QUEUES]
    return sorted(shown, key=lambda queue: queue.name), len(ranked) - len(shown)


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
