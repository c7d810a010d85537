"""Schedules: the times at which a task is enqueued."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, Self
from zoneinfo import ZoneInfo

import msgspec
from cronsim import CronSim, CronSimError

from tenure.control.declaration import refusals_of
from tenure.control.enqueue_options import PLACEMENT, EnqueueOptionSet
from tenure.control.task import Task
from tenure.domain.duration import Duration, duration, in_words
from tenure.domain.job import JSON, NewJob
from tenure.domain.options import read_duration
from tenure.domain.values import shown
from tenure.errors import SettingInvalid

Overlap = Literal["skip", "queue", "replace"]

_DEFAULTS = vars(EnqueueOptionSet())


@dataclass(frozen=True)
class Schedule:
    """A task and its times. Checked when it is made."""

    name: str
    task: str
    cron: str  # five fields, or six with the seconds first
    tz: str
    overlap: Overlap  # when the job of the time before has not ended
    catch_up: timedelta  # how long after a time its job may still be enqueued
    args: Mapping[str, JSON] = field(repr=False)  # there may be a secret in them
    job: NewJob  # what is enqueued each time
    deadline: timedelta | None  # of each job, from its enqueue on
    tenant: str = "default"

    def next_after(self, time: datetime) -> datetime:
        """Return the first of its times after this one."""
        return next(CronSim(self.cron, time.astimezone(ZoneInfo(self.tz)))).astimezone(UTC)

    def due(self, time: datetime) -> NewJob:
        """Return the job for one of its times."""
        options = dict(self.job.options or {})
        if self.deadline is not None:
            options["deadline"] = (time + self.deadline).isoformat()
        return msgspec.structs.replace(
            self.job,
            when_taken="replace" if self.overlap == "replace" else "return",
            options=options or None,
        )

    def key_of(self, time: datetime) -> str:
        """Return the key that lets the job for one of its times be enqueued once."""
        return f"schedule:{self.name}:{time.isoformat()}"

    @property
    def unique_key(self) -> str | None:
        """Return the key that all its jobs share; none if they may overlap."""
        return None if self.overlap == "queue" else f"schedule:{self.name}"

    def announcement(self) -> dict[str, JSON]:
        """Return the schedule for a worker, as JSON."""
        return {
            "name": self.name,
            "task": self.task,
            "cron": self.cron,
            "tz": self.tz,
            "overlap": self.overlap,
            "catch_up": in_words(self.catch_up),
            "args": dict(self.args),
            "tenant": self.tenant,
            "job": msgspec.to_builtins(self.job),
            "deadline": None if self.deadline is None else in_words(self.deadline),
        }

    @classmethod
    def from_announcement(cls, announced: Mapping[str, Any]) -> Self:
        """Return a schedule from its announcement."""
        known = dict(announced)
        known["catch_up"] = duration(announced["catch_up"])
        known["job"] = msgspec.convert(announced["job"], NewJob)
        known["deadline"] = (
            None if announced["deadline"] is None else duration(announced["deadline"])
        )
        return cls(**known)


def make_schedule(
    task: Task[..., Any],
    cron: str,
    name: str | None = None,
    *,
    tz: str = "UTC",
    overlap: Overlap = "skip",
    catch_up: Duration = "60s",
    args: Mapping[str, Any] | None = None,
) -> Schedule:
    """Return a schedule of a task; refuse what cannot be one."""
    if not isinstance(task, Task):
        raise SettingInvalid(
            f"a schedule takes a task, not {shown(task)}; put @app.schedule above @app.task"
        )
    name = task.name if name is None else name
    with refusals_of(name, "schedule"):
        _refuse_never(cron, tz)
        if overlap not in ("skip", "queue", "replace"):
            raise SettingInvalid(
                f"overlap: it takes 'skip', 'queue' or 'replace', not {shown(overlap)}"
            )
        late = read_duration("catch_up", catch_up)
        if late is None:
            raise SettingInvalid("catch_up: it takes a length of time such as '60s'")
        placed = {name for name in PLACEMENT if getattr(task.options, name) != _DEFAULTS[name]}
        if placed - {"tenant"}:
            raise SettingInvalid("a schedule can only set the queue and the tenant of its task")
        if not isinstance(name, str) or not name:
            raise SettingInvalid(f"name: it takes a text that is not empty, not {shown(name)}")
        if not isinstance(args, Mapping | None):
            raise SettingInvalid(f"args: it takes arguments by name, not {shown(args)}")
        # A deadline is counted from each enqueue; it must not be written down now.
        job = task.using(deadline=None).new_job(**(args or {}))
    return Schedule(
        name,
        task.name,
        cron,
        tz,
        overlap,
        late,
        job.args,
        job,
        task.options.deadline,
        task.options.tenant.name,
    )


def _refuse_never(cron: Any, tz: Any) -> None:
    try:
        zone = ZoneInfo(tz)
    except (ValueError, TypeError, OSError, KeyError, AttributeError):
        raise SettingInvalid(
            f"tz: there is no time zone {shown(tz)}; it takes a name such as 'Europe/Berlin'"
        ) from None
    if not isinstance(cron, str):
        raise SettingInvalid(f"cron: it takes a text such as '0 3 * * *', not {shown(cron)}")
    try:
        next(CronSim(cron, datetime.now(zone)))
    except CronSimError as error:
        raise SettingInvalid(
            f"cron: {shown(cron)} is not a schedule: {str(error).lower()}"
        ) from None
    except StopIteration:
        raise SettingInvalid(f"cron: {shown(cron)} never fires") from None
