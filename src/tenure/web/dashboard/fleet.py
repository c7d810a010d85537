"""The fleet: workers as lanes, with a bar for each job that they run."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from starlette.requests import Request
from starlette.responses import Response

from tenure.store.results import WorkerInfo, WorkersJob
from tenure.web.api.workers import workers_of_tenant
from tenure.web.authentication import caller_of
from tenure.web.dashboard.formatting import age
from tenure.web.dashboard.rendering import render

WIDTH = 1000
_MIN_WIDTH = 6.0
_MAX_JOBS = 12  # of one lane
_GONE_FOR = timedelta(minutes=10)
_SPANS = (60, 300, 900, 3600, 6 * 3600, 86_400, 7 * 86_400)  # seconds
_LIVE = ("alive", "draining", "late")


@dataclass(frozen=True)
class JobBar:
    job: WorkersJob
    x: float
    seconds: float

    @property
    def width(self) -> float:
        return round(WIDTH - self.x, 1)


@dataclass(frozen=True)
class WorkerLane:
    worker: WorkerInfo
    jobs: tuple[JobBar, ...]
    left_out: int
    lease_left: float  # seconds
    lease: float

    @property
    def is_live(self) -> bool:
        return self.worker.status in _LIVE


async def show_fleet(request: Request) -> Response:
    found = await workers_of_tenant(caller_of(request), all=True)
    now = datetime.now(UTC)
    workers = [worker for worker in found if _is_shown(worker, now)]
    span = _span(workers, now)
    return render(
        request,
        "fleet.html",
        lanes=[_lane(worker, span, now) for worker in workers],
        marks=[f"{age(span * share)} ago" for share in (1, 0.75, 0.5, 0.25)] + ["now"],
        live="/live",
        every=2,
    )


async def list_workers(request: Request) -> Response:
    with_gone = "all" in request.query_params
    workers = await workers_of_tenant(caller_of(request), all=with_gone)
    now = datetime.now(UTC)
    lanes = [_lane(worker, _span(workers, now), now) for worker in workers]
    return render(request, "workers.html", lanes=lanes, with_gone=with_gone, every=2)


def _is_shown(worker: WorkerInfo, now: datetime) -> bool:
    return worker.status in _LIVE or worker.beat_at > now - _GONE_FOR


def _span(workers: Sequence[WorkerInfo], now: datetime) -> int:
    """Return the shortest span that shows the starts of all running jobs."""
    ages = [(now - job.since).total_seconds() for worker in workers for job in worker.jobs]
    return next((span for span in _SPANS if span >= max(ages, default=0)), _SPANS[-1])


def _lane(worker: WorkerInfo, span: int, now: datetime) -> WorkerLane:
    bars = []
    for job in worker.jobs[:_MAX_JOBS]:
        seconds = max((now - job.since).total_seconds(), 0)
        x = WIDTH * (1 - min(seconds / span, 1))
        bars.append(JobBar(job, round(min(x, WIDTH - _MIN_WIDTH), 1), seconds))
    return WorkerLane(
        worker,
        tuple(bars),
        max(len(worker.jobs) - _MAX_JOBS, 0),
        max((worker.expires_at - now).total_seconds(), 0),
        (worker.expires_at - worker.beat_at).total_seconds(),
    )
