"""The schedules of an app as people see them: their next times, their pauses, and a run at once."""

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from tenure.control.by_name import enqueued
from tenure.control.operation import Operation
from tenure.control.schedule import Overlap, Schedule
from tenure.domain.lifecycle import ENDED, Status
from tenure.domain.tenant import Tenant
from tenure.domain.values import shown
from tenure.errors import KeyTaken, NotFound
from tenure.store.calls import queries
from tenure.store.limit_results import DispatchPause
from tenure.store.results import Enqueued

_ACTIVE = [status.value for status in Status if status.value not in ENDED]
TAG = "schedule:"  # before the name: the owner of its jobs, and a tag of those started by hand


class ScheduleInfo(msgspec.Struct, frozen=True):
    """A schedule of the app, and when it next enqueues a job."""

    name: str
    task: str
    cron: str
    tz: str
    overlap: Overlap
    next_at: datetime | None  # none while it is paused
    pause: DispatchPause | None


def schedules_of(tenant: Tenant, schedules: Iterable[Schedule]) -> list[Schedule]:
    return [schedule for schedule in schedules if schedule.tenant == tenant.name]


def described(schedules: Iterable[Schedule]) -> Operation[tuple[ScheduleInfo, ...]]:
    pauses = yield queries.pauses()
    paused = {pause.name: pause for pause in pauses if pause.subject == "schedule"}
    now = datetime.now(UTC)
    return tuple(
        ScheduleInfo(
            *(each.name, each.task, each.cron, each.tz, each.overlap),
            None if each.name in paused else each.next_after(now),
            paused.get(each.name),
        )
        for each in schedules
    )


def find_schedule(schedules: Iterable[Schedule], name: str) -> Schedule:
    schedule = next((each for each in schedules if each.name == name), None)
    if schedule is None:
        raise NotFound(f"there is no schedule {shown(name)}")
    return schedule


def run_at_once(schedule: Schedule, *, beside: bool = False) -> Operation[Enqueued]:
    """Enqueue a job of a schedule, beside its usual times and whether it is paused or not.

    If jobs of the schedule may not overlap and one has not ended, this is refused, unless it is
    asked to run ``beside`` that one.
    """
    if schedule.overlap != "queue" and not beside and (active := (yield from active_run(schedule))):
        raise KeyTaken(
            f"job {active} of schedule {shown(schedule.name)} has not ended, and its overlap is "
            f"{schedule.overlap!r}; wait for its end, or pass beside (--beside in a terminal) to "
            "run another at the same time"
        )
    job = schedule.due(datetime.now(UTC))
    tags = [*(job.tags or ()), f"{TAG}{schedule.name}"]
    [made] = yield from enqueued([msgspec.structs.replace(job, tags=tags)])
    return made


def active_run(schedule: Schedule) -> Operation[int | None]:
    """Return the newest job of a schedule that has not ended."""
    name = f"{TAG}{schedule.name}"
    found = []
    for filters in ({"owner": name}, {"tag": name}):
        jobs = yield queries.list_jobs({**filters, "status": _ACTIVE}, n=1)
        found += [job.id for job in jobs]
    return max(found, default=None)
