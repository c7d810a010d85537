"""The schedules of the app: past and coming runs, run now, pause and resume."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from cronsim import CronSim
from starlette.requests import Request
from starlette.responses import Response

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.schedule import Schedule
from tenure.control.schedule_runs import TAG, find_schedule, run_at_once
from tenure.domain.job import JSON, Job
from tenure.domain.lifecycle import ENDED, State
from tenure.store.calls import queries
from tenure.store.limit_results import DispatchPause
from tenure.web.api.schedules import visible_schedules
from tenure.web.authentication import caller_of
from tenure.web.dashboard.attention import attention_of
from tenure.web.dashboard.form import Form
from tenure.web.dashboard.formatting import MARKS
from tenure.web.dashboard.rendering import render

WIDTH = 1000
_NEXT_RUNS = 5
_LAST_RUNS = 50
_LISTED = 5
_MAX_MARKS = 200
_SPANS = {
    "1 h": timedelta(hours=1),
    "1 d": timedelta(days=1),
    "1 w": timedelta(weeks=1),
    "5 w": timedelta(weeks=5),
    "1 y": timedelta(days=366),
}


@dataclass(frozen=True)
class StripRun:
    """A past or coming run on the strip, from the left edge, with the present in the middle."""

    x: float
    tone: str
    text: str
    job: int | None = None


@dataclass(frozen=True)
class ScheduleRow:
    schedule: Schedule
    explanation: str
    pause: DispatchPause | None
    next_runs: Sequence[datetime]
    last_runs: Sequence[Job]
    active: Job | None  # the newest run that has not ended
    result: JSON  # of the newest run that completed
    span: str
    strip: Sequence[StripRun]


async def list_schedules(request: Request) -> Response:
    caller = caller_of(request)
    paused = (await attention_of(request)).paused("schedule")
    schedules = visible_schedules(caller)
    found = await asyncio.gather(
        *(_row(caller, schedule, paused.get(schedule.name)) for schedule in schedules)
    )
    return render(request, "schedules.html", schedules=found, live="/live", every=10)


async def run_now(caller: AuthorizedClient, form: Form) -> int:
    """Enqueue the job of a schedule; return its id."""
    await caller.arequire("enqueue")
    schedule = find_schedule(visible_schedules(caller), form.name)
    return (await caller.aperform(run_at_once(schedule, beside="beside" in form))).id


def explain(schedule: Schedule) -> str:
    """Return a cron expression as a sentence."""
    return CronSim(schedule.cron, datetime.now(ZoneInfo(schedule.tz))).explain()


async def _row(
    caller: AuthorizedClient, schedule: Schedule, pause: DispatchPause | None
) -> ScheduleRow:
    name = f"{TAG}{schedule.name}"
    own, started = await asyncio.gather(
        caller.asend(queries.list_jobs({"owner": name}, n=_LAST_RUNS)),
        caller.asend(queries.list_jobs({"tag": name}, n=_LAST_RUNS)),
    )
    last = sorted((*own, *started), key=lambda job: -job.id)
    completed = next((job for job in last if job.state is State.COMPLETED), None)
    result = (await caller.asend(queries.show(completed.id))).result if completed else None
    coming, span = _next_runs(schedule)
    return ScheduleRow(
        schedule,
        explain(schedule),
        pause,
        coming[:_NEXT_RUNS],
        last[:_LISTED],
        next((job for job in last if job.state not in ENDED), None),
        result,
        span,
        tuple(_strip(last, coming if pause is None else (), _SPANS[span])),
    )


def _next_runs(schedule: Schedule) -> tuple[Sequence[datetime], str]:
    """Return the next runs in the time zone of the schedule, and the shortest span with a few.

    They end with the strip: each takes some milliseconds to find.
    """
    now = datetime.now(ZoneInfo(schedule.tz))
    runs = islice(CronSim(schedule.cron, now), _MAX_MARKS)
    coming = list(islice(runs, _NEXT_RUNS))
    span = next((name for name, span in _SPANS.items() if coming[-1] - now <= span), "1 y")
    coming.extend(takewhile(lambda at: at - now <= _SPANS[span], runs))
    return coming, span


def _strip(last: Sequence[Job], coming: Sequence[datetime], span: timedelta) -> Iterator[StripRun]:
    now = datetime.now(UTC)

    def place(at: datetime) -> float:
        return round(WIDTH / 2 * (1 + (at - now) / span), 1)

    for job in last:
        if (x := place(job.created_at)) >= 0:
            tone = MARKS[job.status][1]
            text = f"{job.created_at:%Y-%m-%d %H:%M} UTC: job {job.id} {job.status}"
            yield StripRun(x, tone, text, job.id)
    for at in coming:
        if (x := place(at)) <= WIDTH:
            yield StripRun(x, "coming", f"{at:%Y-%m-%d %H:%M:%S %Z}")
