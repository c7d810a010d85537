"""Bodies of requests, and responses that are not values of the domain."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec

from tenure.control.enqueue_options import EnqueueOptions, EnqueueOptionSet
from tenure.control.handle import Handle
from tenure.control.inspection import PATIENCE
from tenure.domain.cancellation import CancellationStatus, CancellationStep
from tenure.domain.duration import in_words
from tenure.domain.job import JSON
from tenure.domain.lifecycle import BulkIntent, Intent, Rung
from tenure.domain.options import Option
from tenure.domain.principal import TOKEN_LIFETIME, Role
from tenure.domain.retry import Retry
from tenure.domain.stop_options import StopOptions
from tenure.store.results import Token

Duration = str | int | float  # "20s", or seconds
Unset = msgspec.UnsetType
UNSET = msgspec.UNSET


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a request; unknown fields are refused."""


class ReasonBody(Body, frozen=True):
    reason: str | None = None


class RunBody(Body, frozen=True):
    beside: bool = False  # a run that has not ended, although they may not overlap


def _json_type(kind: Any) -> Any:
    """Return the type in JSON for a type in Python; none if only Python has it."""
    origin = get_origin(kind)
    if (origin or kind) in (timedelta, Decimal, Rung, Handle):
        return None
    if kind is Retry:
        return dict[str, Any]
    if origin in (Union, UnionType):
        return Union[tuple(filter(None, map(_json_type, get_args(kind))))]  # noqa: UP007
    if origin is Sequence:
        return tuple[_json_type(get_args(kind)[0]), ...]  # type: ignore[misc]
    if origin is Mapping:
        return dict[str, _json_type(get_args(kind)[1])]  # type: ignore[misc]
    return kind


def _json_fields(kind: type, declared: Mapping[str, Option]) -> dict[str, Any]:
    """Return the options of a TypedDict with their types in a request."""
    return {
        name: declared[name].json if name in declared and declared[name].json else _json_type(hint)
        for name, hint in get_type_hints(kind).items()
        if name not in ("tenant", "connection")
    }


if TYPE_CHECKING:
    JobFields = Body
    StopFields = Body
else:
    _KIND = {"bases": (Body,), "frozen": True, "kw_only": True}
    _job = _json_fields(EnqueueOptions, EnqueueOptionSet.declared)
    _stop = _json_fields(StopOptions, {})
    JobFields = msgspec.defstruct(
        "JobFields", [(name, kind | Unset, UNSET) for name, kind in _job.items()], **_KIND
    )
    StopFields = msgspec.defstruct(
        "StopFields", [(name, kind, None) for name, kind in _stop.items()], **_KIND
    )


class NewJobBody(JobFields, frozen=True, kw_only=True):
    """A job to enqueue: the name of its task, its arguments, and its options."""

    task: str | None = None  # none: a job without code, which ends as its children end
    args: Mapping[str, JSON] = {}
    unannounced: bool = False  # it may wait until its task is announced
    secret: tuple[str, ...] | Unset = UNSET  # names of arguments that are never shown

    def options(self) -> dict[str, Any]:
        """Return the options that were given."""
        given = {name: getattr(self, name) for name in (*JobFields.__struct_fields__, "secret")}
        return {name: value for name, value in given.items() if value is not UNSET}


NewJobs = NewJobBody | list[NewJobBody]


class StopBody(StopFields, frozen=True, kw_only=True):
    """Options of a stop; missing ones come from the strategy, then from the task."""

    reason: str | None = None
    wait: Duration | None = None  # for the end of the stop, before the response

    def options(self) -> dict[str, Any]:
        """Return the options that were given."""
        given = {name: getattr(self, name) for name in StopFields.__struct_fields__}
        return {name: value for name, value in given.items() if value is not None}


class InspectBody(Body, frozen=True):
    wait: Duration = PATIENCE  # for the answer of its worker


class ResumeBody(ReasonBody, frozen=True):
    fresh: bool = False  # ignore the checkpoint
    budget: dict[str, float] | None = None  # limits that replace the old ones
    value: JSON = None  # for the code of the job


class RerunBody(ReasonBody, frozen=True):
    from_step: str | None = None  # with the values of all steps before this one
    steps: dict[str, JSON] | None = None  # values to use instead, by name


class AnswerBody(Body, frozen=True):
    value: JSON
    question: int | None = None  # none: the only open one


class EventBody(Body, frozen=True):
    name: str
    key: str = ""
    payload: JSON = None
    keep: Duration = "7d"


class PublishedEvent(msgspec.Struct, frozen=True):
    """The event that was published."""

    id: int


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


class RollbackBody(ReasonBody, frozen=True):
    tasks: tuple[int, ...] | None = None  # none: all completed children


class RollbackJob(msgspec.Struct, frozen=True):
    """The job that runs the rollback."""

    job: int


class Paused(msgspec.Struct, frozen=True):
    """The answer to a pause or resume: whether it changed anything."""

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


class RateFields(Body, frozen=True):
    amount: float
    per: str | float  # "1m", or seconds
    burst: float | None = None  # at most this together; the amount if it is left out


class LimitBody(Body, frozen=True):
    rates: Mapping[str, RateFields] = {}  # by unit: calls, tokens, ...
    at_once: int | None = None


class CloseBody(ReasonBody, frozen=True):
    duration: str | float | None = None  # until it is opened if it is left out


class Opened(msgspec.Struct, frozen=True):
    """The answer to an opening: false if the limit was not closed."""

    opened: bool


class SlotsBody(Body, frozen=True):
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class Draining(msgspec.Struct, frozen=True):
    """A worker that was asked to drain."""

    worker_id: UUID
    draining_at: datetime


class EndRunnerBody(ReasonBody, frozen=True):
    force: bool = False
    grace: Duration | None = None


class TenantBody(Body, frozen=True):
    name: str


class TokenBody(Body, frozen=True):
    name: str  # of its owner
    role: Role = Role.VIEWER
    lifetime: Duration | None = in_words(TOKEN_LIFETIME)  # none: valid until revoked
    tenant: str | None = None  # the caller's own; an admin of the default tenant may name another


class WebhookBody(Body, frozen=True):
    url: str
    events: tuple[str, ...] | None = None  # all if it is left out
    tasks: tuple[str, ...] | None = None  # of all if it is left out


class RotationBody(Body, frozen=True):
    keep: Duration = "24h"  # how long the former secret signs as well


class RedeliveryBody(Body, frozen=True):
    delivery: int | None = None  # all that were not delivered if it is left out


class Redelivered(msgspec.Struct, frozen=True):
    deliveries: int  # that are tried again


class NewToken(msgspec.Struct, frozen=True):
    """A token and its secret, which is never shown again."""

    secret: str
    token: Token


class BulkPreviewBody(Body, frozen=True, kw_only=True):
    """The jobs that a bulk operation would change."""

    filter: dict[str, JSON]  # the filters of the list of jobs; {}: all jobs
    intent: BulkIntent = BulkIntent.CANCEL
    force: bool = False


class BulkBody(StopBody, frozen=True, kw_only=True):
    """The jobs to stop, resume or rerun, and the options."""

    filter: dict[str, JSON]  # the filters of the list of jobs; {}: all jobs
    intent: BulkIntent = BulkIntent.CANCEL
    fresh: bool = False  # for a resume: ignore checkpoints


class PolicyBody(ReasonBody, frozen=True, kw_only=True):
    """The jobs that a policy stops, when, and how."""

    when: dict[str, JSON]
    filter: dict[str, JSON] = {}
    intent: Intent = Intent.CANCEL
    strategy: str | None = None
    enabled: bool = True

    def spec(self) -> dict[str, JSON]:
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "enabled"}


class Dropped(msgspec.Struct, frozen=True):
    """The name of what was deleted."""

    dropped: str


class Health(msgspec.Struct, frozen=True):
    status: Literal["ok"] = "ok"
