"""What requests carry, and what answers have beside the values of the domain."""

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

Length = str | int | float  # "20s", or seconds
LastRung = Literal["asked", "interrupted", "terminated", "killed"]
Unset = msgspec.UnsetType
UNSET = msgspec.UNSET


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a request carries; a field that is not known is refused."""


class ReasonBody(Body, frozen=True):
    reason: str | None = None


class NewJobBody(Body, frozen=True, kw_only=True):
    """A job to enqueue: the name of its task, its arguments, and what is said of it alone."""

    task: str | None = None  # none: it has no code of its own and ends as its tasks end
    args: Mapping[str, JSON] = {}
    unannounced: bool = False  # it may wait until somebody announces its task
    secret: tuple[str, ...] | Unset = UNSET  # names of arguments that nobody is shown
    # Where it goes.
    run_at: datetime | Unset | None = UNSET
    delay: Length | Unset | None = UNSET
    target: str | Unset | None = UNSET
    parent: int | str | Unset | None = UNSET
    after: tuple[int | str | After, ...] | Unset = UNSET
    owner: str | Unset | None = UNSET  # whoever asks; an admin may name somebody else
    unique: str | Unset | None = UNSET
    when_taken: Literal["return", "replace", "refuse"] | Unset = UNSET
    idempotency: str | Unset | None = UNSET  # or the header Idempotency-Key
    key_scope: Literal["owner", "tenant"] | Unset = UNSET  # an admin may share its keys
    key: str | Unset | None = UNSET
    # How it runs.
    queue: str | Unset = UNSET
    priority: int | Unset = UNSET
    retry: int | dict[str, Any] | Unset | None = UNSET
    timeout: Length | Unset | None = UNSET
    deadline: Length | Unset | None = UNSET
    grace: Length | Unset | None = UNSET
    ask_for: Length | Unset | None = UNSET
    last_rung: LastRung | Unset = UNSET
    block_on: tuple[Literal["paused", "failed"], ...] | Unset = UNSET
    budget: dict[str, int | float] | Unset | None = UNSET
    on_budget: Literal["fail", "pause"] | Unset = UNSET
    pools: tuple[str, ...] | Unset = UNSET
    memory: int | str | Unset | None = UNSET
    preserve_artifacts: bool | Unset = UNSET
    cancel_pauses: bool | Unset = UNSET
    close_timeout: Length | Unset | None = UNSET
    orphan: Literal["retry", "fail"] | Unset | None = UNSET
    tags: tuple[str, ...] | Unset = UNSET

    def said(self) -> dict[str, Any]:
        """What is said of it, beside its task and its arguments."""
        said = {name: getattr(self, name) for name in self.__struct_fields__[3:]}
        return {name: value for name, value in said.items() if value is not UNSET}


class StopBody(Body, frozen=True, kw_only=True):
    """How a job is paused; what is left out is as the strategy says, else as the task says."""

    reason: str | None = None
    force: bool | None = None
    grace: Length | None = None
    ask_for: Length | None = None
    last_rung: LastRung | None = None
    wait: Length | None = None  # for its end, before this request is answered


class StopOptionsBody(StopBody, frozen=True, kw_only=True):
    """How jobs are cancelled; what is left out is as the strategy says, else as the task says."""

    cascade: bool | None = None
    rollback: bool | None = None  # undo what its tasks had completed
    strategy: str | None = None
    preserve: bool | None = None  # keep the artifacts


class CancelBody(StopOptionsBody, frozen=True, kw_only=True):
    """How a job is cancelled; what is left out is as the strategy says, else as the task says."""

    rollback_tasks: tuple[int, ...] | None = None  # undo only what these had completed


class InspectBody(Body, frozen=True):
    wait: Length = PATIENCE  # for what its worker sees


class ResumeBody(Body, frozen=True):
    reason: str | None = None
    fresh: bool = False  # without its checkpoint
    budget: dict[str, float] | None = None  # limits that replace those it had


class QueueBody(Body, frozen=True):
    run_at: datetime | None = None


class Cleared(msgspec.Struct, frozen=True):
    cleared: tuple[int, ...]


class CancellationProgress(msgspec.Struct, frozen=True):
    """How far the latest stop of a job has come."""

    status: CancellationStatus
    cancellation_id: str
    job_id: int
    progress: tuple[CancellationStep, ...]
    errors: tuple[str, ...]


class Partial(msgspec.Struct, frozen=True):
    """What a job emitted before its end."""

    id: int
    at: datetime
    value: JSON


class LogEntry(msgspec.Struct, frozen=True):
    """A line that the code of a job printed or logged."""

    id: int
    at: datetime
    level: str
    line: str


class ArtifactInfo(msgspec.Struct, frozen=True):
    """A file that a job kept."""

    name: str
    url: str
    size: int
    created_at: datetime


class RollbackBody(Body, frozen=True):
    tasks: tuple[int, ...] | None = None  # none: all that had completed
    reason: str | None = None


class RollbackJob(msgspec.Struct, frozen=True):
    """The job that undoes it."""

    job: int


class Paused(msgspec.Struct, frozen=True):
    """Whether this request changed something."""

    paused: bool | None = None
    resumed: bool | None = None


class QueueInfo(msgspec.Struct, frozen=True):
    """A queue, and the jobs in it."""

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
    """A worker that was asked to leave."""

    worker_id: UUID
    draining_at: datetime


class EndRunnerBody(Body, frozen=True):
    reason: str | None = None
    force: bool = False
    grace: Length | None = None


class TenantBody(Body, frozen=True):
    name: str


class TokenBody(Body, frozen=True):
    name: str  # whose it is
    role: Role = Role.VIEWER
    lifetime: Length | None = in_words(TOKEN_LIFETIME)  # none: until it is revoked
    tenant: str | None = None  # one's own; an admin of the default tenant may name another


class NewToken(msgspec.Struct, frozen=True):
    """A token, and the secret that nobody sees again."""

    secret: str
    token: Token


class StrategyBody(Body, frozen=True):
    """Named options of a stop."""

    grace: Length | None = None
    ask_for: Length | None = None
    force: bool | None = None
    last_rung: LastRung | None = None
    cascade: bool | None = None
    preserve: bool | None = None
    rollback: bool | None = None


class BulkPreviewBody(Body, frozen=True, kw_only=True):
    """Which jobs would be reached."""

    filter: dict[str, JSON]  # as in the list of jobs; {}: all
    intent: BulkIntent = BulkIntent.CANCEL
    force: bool = False


class BulkBody(StopOptionsBody, frozen=True, kw_only=True):
    """Which jobs are stopped, resumed or run again, and how."""

    filter: dict[str, JSON]  # as in the list of jobs; {}: all
    intent: BulkIntent = BulkIntent.CANCEL
    fresh: bool = False  # of a resume: without their checkpoints


class PolicyBody(Body, frozen=True, kw_only=True):
    """Which jobs are stopped, when, and how."""

    when: dict[str, JSON]
    filter: dict[str, JSON] = {}
    intent: Intent = Intent.CANCEL
    strategy: str | None = None
    reason: str | None = None
    enabled: bool = True

    def spec(self) -> dict[str, JSON]:
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "enabled"}


class Dropped(msgspec.Struct, frozen=True):
    """What is gone now."""

    dropped: str


class Health(msgspec.Struct, frozen=True):
    status: Literal["ok"] = "ok"
