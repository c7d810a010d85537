"""The record of a stop: its options, its steps, its members and its result."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

import msgspec

from tenure.domain.job import JSON
from tenure.domain.lifecycle import Intent, Rung, State


class CancellationStatus(StrEnum):
    """The status of a stop."""

    INITIATED = "initiated"
    STOPPING_RUNNERS = "stopping_runners"
    UPDATING_TASKS = "updating_tasks"
    CLEANING_RESOURCES = "cleaning_resources"
    COMPLETED = "completed"
    PARTIAL = "partial"  # something could not be confirmed; see the errors
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        """Tell whether the record is closed."""
        return self in _FINAL


_FINAL = frozenset(
    {CancellationStatus.COMPLETED, CancellationStatus.PARTIAL, CancellationStatus.FAILED}
)


class CancellationStep(msgspec.Struct, frozen=True):
    """A step of a stop, with its times."""

    step_name: str
    status: str  # pending, in_progress, completed or failed
    started_at: datetime | None
    completed_at: datetime | None
    details: Mapping[str, JSON]
    error: str | None


class CancellationMember(msgspec.Struct, frozen=True):
    """A job that a stop reached: its last rung and its end."""

    job_id: int
    was: State
    became: State | None
    rung: Rung | None
    worker_id: str | None
    runner: str | None
    ended_at: datetime | None
    error: str | None
    cleanup: JSON = None  # of its resources
    pids: tuple[int, ...] = ()  # of the processes that were ended with it; 50 at most
    processes: int | None = None  # their number; none: not counted
    # When the stop was delivered to its worker, each rung was reached, and its cleanup began.
    reached: Mapping[str, datetime] = {}


class CancellationResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a stop; ``success`` is false until it is completed."""

    success: bool
    cancellation_id: str
    job_id: int
    job_became: State | None  # of the job that was stopped; none: it still runs
    tasks_cancelled: tuple[int, ...]  # of the others
    tasks_completed: tuple[int, ...]
    attempts_ended: Mapping[Rung, int]  # how many, by the last rung that it took
    runners_terminated: tuple[str, ...]
    slots_released: tuple[str, ...]
    artifacts_preserved: tuple[str, ...]
    partials_preserved: int
    errors: tuple[str, ...]
    duration_seconds: float
    status: CancellationStatus
    members: tuple[CancellationMember, ...] = ()


class CancellationRecord(CancellationResult, frozen=True, kw_only=True):
    """The record of a stop: its options and its steps, with the result so far."""

    task_id: int | None  # none: the whole job
    intent: Intent
    reason: str
    force: bool
    cascade: bool
    grace: float | None
    ask_for: float | None
    last_rung: Rung
    rollback: bool
    initiated_at: datetime
    initiated_by: str
    completed_at: datetime | None
    error: str | None
    again: bool  # this stop was requested before
    progress: tuple[CancellationStep, ...]
    tasks_open: tuple[int, ...]
    rollback_tasks: tuple[int, ...] | None = None  # none: all of them, if there is a rollback
    rollback_jobs: tuple[int, ...] = ()  # what undoes it
    preserve: bool | None = None  # whether artifacts are kept; none: as the task says
    strategy: str | None = None

    def result(self) -> CancellationResult:
        """Return the part of the record that is its result."""
        fields = CancellationResult.__struct_fields__
        return CancellationResult(**{name: getattr(self, name) for name in fields})


class StopSummary(msgspec.Struct, frozen=True):
    """A record with its members summed up.

    The record lists only the job, the others that took longest, and a page of members.
    """

    record: CancellationRecord
    whole: CancellationMember  # all as one: the first to reach each rung, the last to end
    members: int
    ended: int
    completed: int  # jobs beside the one that was stopped
    slots: int  # released
    artifacts: int  # preserved
    rungs: Mapping[str, int]  # of the others that ended, by the last rung that they took
    ends: tuple[tuple[datetime, int], ...]  # how many of the others ended by then, since the last
    page: tuple[int, ...]
