"""Bodies of requests, and responses that are not values of the domain."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec

from tenure.control.inspection import PATIENCE
from tenure.domain.cancellation import CancellationStatus, CancellationStep
from tenure.domain.duration import in_words
from tenure.domain.job import JSON, After
from tenure.domain.lifecycle import BulkIntent, Intent
from tenure.domain.principal import TOKEN_LIFETIME, Role
from tenure.store.results import Token

Duration = str | int | float  # "20s", or seconds
LastRung = Literal["asked", "interrupted", "terminated", "killed"]
Unset = msgspec.UnsetType
UNSET = msgspec.UNSET


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a request; unknown fields are refused."""


class ReasonBody(Body, frozen=True):
    reason: str | None = None


class NewJobBody(Body, frozen=True, kw_only=True):
    """A job to enqueue: the name of its task, its arguments and its options."""

    task: str | None = None  # none: the job has no code and ends when its children end
    args: Mapping[str, JSON] = {}
    unannounced: bool = False  # the job may wait until a worker announces its task
    secret: tuple[str, ...] | Unset = UNSET  # names of arguments that are never shown
    # Placement.
    run_at: datetime | Unset | None = UNSET
    delay: Duration | Unset | None = UNSET
    target: str | Unset | None = UNSET
    parent: int | str | Unset | None = UNSET
    after: tuple[int | str | After, ...] | Unset = UNSET
    owner: str | Unset | None = UNSET  # the caller; an admin may name another
    unique: str | Unset | None = UNSET
    when_taken: Literal["return", "replace", "refuse"] | Unset = UNSET
    idempotency: str | Unset | None = UNSET  # or the header Idempotency-Key
    key_scope: Literal["owner", "tenant"] | Unset = UNSET  # only an admin may share keys
    key: str | Unset | None = UNSET
    # Execution.
    queue: str | Unset = UNSET
    priority: int | Unset = UNSET
    retry: int | dict[str, Any] | Unset | None = UNSET
    timeout: Duration | Unset | None = UNSET
    deadline: Duration | Unset | None = UNSET
    grace: Duration | Unset | None = UNSET
    ask_for: Duration | Unset | None = UNSET
    last_rung: LastRung | Unset = UNSET
    block_on: tuple[Literal["paused", "failed"], ...] | Unset = UNSET
    budget: dict[str, int | float] | Unset | None = UNSET
    on_budget: Literal["fail", "pause"] | Unset = UNSET
    pools: tuple[str, ...] | Unset = UNSET
    memory: int | str | Unset | None = UNSET
    preserve_artifacts: bool | Unset = UNSET
    cancel_pauses: bool | Unset = UNSET
    close_timeout: Duration | Unset | None = UNSET
    orphan: Literal["retry", "fail"] | Unset | None = UNSET
    tags: tuple[str, ...] | Unset = UNSET

    def options(self) -> dict[str, Any]:
        """Return the options that were given."""
        values = {name: getattr(self, name) for name in self.__struct_fields__[3:]}
        return {name: value for name, value in values.items() if value is not UNSET}


NewJobs = NewJobBody | list[NewJobBody]


class StopBody(Body, frozen=True, kw_only=True):
    """Options of a pause; missing ones come from the strategy, then from the task."""

    reason: str | None = None
    force: bool | None = None
    grace: Duration | None = None
    ask_for: Duration | None = None
    last_rung: LastRung | None = None
    wait: Duration | None = None  # for the end of the stop, before the response


class StopOptionsBody(StopBody, frozen=True, kw_only=True):
    """Options of a stop; missing ones come from the strategy, then from the task."""

    cascade: bool | None = None
    rollback: bool | None = None  # undo what its children had completed
    strategy: str | None = None
    preserve: bool | None = None  # keep the artifacts


class CancelBody(StopOptionsBody, frozen=True, kw_only=True):
    """Options of a cancel; missing ones come from the strategy, then from the task."""

    rollback_tasks: tuple[int, ...] | None = None  # undo only these children


class InspectBody(Body, frozen=True):
    wait: Duration = PATIENCE  # for the answer of its worker


class ResumeBody(Body, frozen=True):
    reason: str | None = None
    fresh: bool = False  # ignore the checkpoint
    budget: dict[str, float] | None = None  # limits that replace the old ones


class QueueBody(Body, frozen=True):
    run_at: datetime | None = None


class Cleared(msgspec.Struct, frozen=True):
    cleared: tuple[int, ...]


class CancellationProgress(msgspec.Struct, frozen=True):
    """The progress of the latest stop of a job."""

    status: CancellationStatus
    cancellation_id: str
    job_id: int
    progress: tuple[CancellationStep, ...]
    errors: tuple[str, ...]


class Partial(msgspec.Struct, frozen=True):
    """A partial result of a job."""

    id: int
    at: datetime
    value: JSON


class LogEntry(msgspec.Struct, frozen=True):
    """A line that a job printed or logged."""

    id: int
    at: datetime
    level: str
    line: str


class ArtifactInfo(msgspec.Struct, frozen=True):
    """A file that a job stored."""

    name: str
    url: str
    size: int
    created_at: datetime


class RollbackBody(Body, frozen=True):
    tasks: tuple[int, ...] | None = None  # none: all completed children
    reason: str | None = None


class RollbackJob(msgspec.Struct, frozen=True):
    """The job that runs the rollback."""

    job: int


class Paused(msgspec.Struct, frozen=True):
    """Whether the pause or resume changed anything."""

    paused: bool | None = None
    resumed: bool | None = None


class QueueInfo(msgspec.Struct, frozen=True):
    """A queue, and the number of its jobs by status."""

    name: str
    by_status: Mapping[str, int]
    oldest_seconds: float | None
    paused: bool


class PoolBody(Body, frozen=True):
    name: str
    slots: tuple[str, ...] = ()


class SlotsBody(Body, frozen=True):
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class Draining(msgspec.Struct, frozen=True):
    """A worker that was asked to drain."""

    worker_id: UUID
    draining_at: datetime


class EndRunnerBody(Body, frozen=True):
    reason: str | None = None
    force: bool = False
    grace: Duration | None = None


class TenantBody(Body, frozen=True):
    name: str


class TokenBody(Body, frozen=True):
    name: str  # of its owner
    role: Role = Role.VIEWER
    lifetime: Duration | None = in_words(TOKEN_LIFETIME)  # none: valid until revoked
    tenant: str | None = None  # the caller's own; an admin of the default tenant may name another


class NewToken(msgspec.Struct, frozen=True):
    """A token and its secret, which is never shown again."""

    secret: str
    token: Token


class StrategyBody(Body, frozen=True):
    """The stop options of a strategy."""

    grace: Duration | None = None
    ask_for: Duration | None = None
    force: bool | None = None
    last_rung: LastRung | None = None
    cascade: bool | None = None
    preserve: bool | None = None
    rollback: bool | None = None


class BulkPreviewBody(Body, frozen=True, kw_only=True):
    """The jobs that a bulk operation would change."""

    filter: dict[str, JSON]  # the filters of the list of jobs; {}: all jobs
    intent: BulkIntent = BulkIntent.CANCEL
    force: bool = False


class BulkBody(StopOptionsBody, frozen=True, kw_only=True):
    """The jobs to stop, resume or rerun, and the options."""

    filter: dict[str, JSON]  # the filters of the list of jobs; {}: all jobs
    intent: BulkIntent = BulkIntent.CANCEL
    fresh: bool = False  # for a resume: ignore checkpoints


class PolicyBody(Body, frozen=True, kw_only=True):
    """The jobs that a policy stops, when, and how."""

    when: dict[str, JSON]
    filter: dict[str, JSON] = {}
    intent: Intent = Intent.CANCEL
    strategy: str | None = None
    reason: str | None = None
    enabled: bool = True

    def spec(self) -> dict[str, JSON]:
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "enabled"}


class Dropped(msgspec.Struct, frozen=True):
    """The name of what was deleted."""

    dropped: str


class Health(msgspec.Struct, frozen=True):
    status: Literal["ok"] = "ok"
