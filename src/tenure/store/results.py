"""The answers of the verbs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar
from uuid import UUID

import msgspec

from tenure.domain.job import JSON
from tenure.domain.lifecycle import State, Status
from tenure.domain.principal import Role
from tenure.store.limit_results import GrantAnswer

C = TypeVar("C")


class Enqueued(msgspec.Struct, frozen=True):
    id: int
    created: bool  # false: this is an existing job with the same key
    taken: str | None = None  # the kind of that key: unique, idempotency or key
    key: str | None = None


class Found(msgspec.Struct, frozen=True):
    """A job that was found by its key."""

    id: int


class Claimed(msgspec.Struct, frozen=True):
    """A job that this worker has claimed, with its fencing token."""

    id: int
    token: int
    task: str
    queue: str
    raw_args: bytes  # as JSON: most claimers only pass it on
    attempt: int
    max_attempts: int
    crashes: int
    priority: int
    owner: str
    root_id: int
    parent_id: int | None
    key: str | None
    target: str | None
    options: Mapping[str, JSON] | None
    budget: Mapping[str, float] | None
    raw_checkpoint: bytes | None
    slots: Mapping[str, str] | None
    alone: bool = False  # it must not share a runner, because one died with it
    waited_ms: int | None = None  # since it was due
    raw_resume_value: bytes | None = None

    @property
    def args(self) -> Mapping[str, JSON]:
        """Return the arguments of the job."""
        args: Mapping[str, JSON] = msgspec.json.decode(self.raw_args)
        return args

    @property
    def checkpoint(self) -> JSON:
        """Return the checkpoint of the job; None if it saved none."""
        return msgspec.json.decode(self.raw_checkpoint or b"null")


class Unreadable(msgspec.Struct, frozen=True):
    """A job that this worker has claimed but whose row it cannot read."""

    id: int
    token: int
    why: str


class Claim(msgspec.Struct, frozen=True):
    jobs: tuple[Claimed, ...]
    floors: str  # pass it to the next claim; see claim.sql
    alive: bool
    unreadable: tuple[Unreadable, ...] = ()


class Signal(msgspec.Struct, frozen=True):
    """Orders to a worker about a job that it holds."""

    id: int
    tenant: str
    job_id: int
    token: int
    orders: Mapping[str, JSON]


class Holding(msgspec.Struct, frozen=True):
    """A job that a worker believes it holds."""

    tenant: str
    job: int
    token: int


class RunnerOrder(msgspec.Struct, frozen=True):
    """An order to end a runner."""

    by: str
    force: bool
    reason: str | None = None
    grace: float | None = None  # seconds; None: that of each job


class JobRunner(msgspec.Struct, frozen=True):
    """A process that runs jobs, as its worker reported with its last beat."""

    runner: str | None  # its id; None: these jobs began after that beat
    worker_id: UUID
    host: str
    as_of: datetime
    kind: str | None  # async, process or thread
    pid: int | None
    ending: bool  # its end was requested
    jobs: tuple[int, ...]  # those of the query
    others: int  # further jobs in the same runner


class RunnerEnding(msgspec.Struct, frozen=True):
    """A runner that was ordered to end, and its jobs, which are released."""

    runner: str
    worker_id: UUID
    jobs: tuple[int, ...]
    asked_at: datetime


class SignalsRead(msgspec.Struct, frozen=True):
    alive: bool  # false: declared dead; kill all runners and register again
    signals: tuple[Signal, ...]
    draining: bool = False
    ending: Mapping[str, RunnerOrder] = {}  # runners to end, by id


class Renewal(SignalsRead, frozen=True):
    lost: tuple[Holding, ...] = ()  # of the jobs it believed it holds
    expires_at: datetime | None = None


class Output(msgspec.Struct, frozen=True):
    """A partial result or a log line of a job."""

    number: int  # in the order of all output of the tenant
    kind: str  # partial or log
    at: datetime
    value: JSON


class StreamPage(msgspec.Struct, frozen=True):
    """The state of a job, and its output above a number."""

    state: State
    status: Status
    attempt: int
    reason: str | None  # why it is paused, failed or stopped
    progress: JSON
    newest: int  # the number of its newest output; 0 if there is none
    items: tuple[Output, ...]
    question: JSON = None  # that it waits for an answer to


class WriteAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The jobs of which a worker could not write what it sent."""

    refused: tuple[int, ...]  # no longer held by this worker
    busy: tuple[int, ...]  # locked at the moment; try again
    repeated: tuple[int, ...] = ()  # of the refused: this worker has already ended them

    @property
    def late(self) -> list[int]:
        """Return the jobs that this worker no longer held."""
        return [job for job in self.refused if job not in self.repeated]


class Finished(WriteAnswer, frozen=True, kw_only=True):
    by_state: Mapping[State, tuple[int, ...]] = msgspec.field(name="accepted")  # their new states
    wakes: bool  # there is something to promote

    @property
    def accepted(self) -> dict[int, State]:
        """Return the new state of each job."""
        return {job: state for state, jobs in self.by_state.items() for job in jobs}


class Exhausted(msgspec.Struct, frozen=True):
    job_id: int
    message: str


class Reported(WriteAnswer, frozen=True, kw_only=True):
    accepted: tuple[int, ...]
    exhausted: tuple[Exhausted, ...]
    granted: Mapping[str, Mapping[str, str]]  # job -> pool -> slot
    answered: Mapping[str, Mapping[str, GrantAnswer]] = {}  # job -> number of the request


class Promoted(msgspec.Struct, frozen=True):
    linked: int
    due: int
    targets: int
    limits: int
    closed: int
    more: bool
    next_due: float | None = None  # seconds until the next job that waits for its time
    chores: tuple[str, ...] = ()  # due chores of the tenant
    published: int = 0  # events that were passed on


class Exchanged(msgspec.Struct, Generic[C], frozen=True):
    alive: bool
    finished: Finished
    claims: tuple[C, ...]  # one for each want
    promoted: Promoted | None  # None: nothing was promoted, or promoting failed
    promote_error: str | None
    next_due: float | None  # seconds; None also if jobs were claimed, so it was not looked up
    idled: bool  # notifications of new jobs begin only now: claim once more


class CompletedTask(msgspec.Struct, frozen=True):
    """A task that a rollback undoes, with its unmasked arguments."""

    id: int
    task: str | None
    args: Mapping[str, JSON]
    result: JSON
    result_artifact: str | None
    secret: tuple[str, ...] | None  # names of arguments that are never shown
    completed_at: datetime


class TenantActivity(msgspec.Struct, frozen=True):
    """The last transaction of each tenant, as far as it is visible."""

    open: int  # the oldest transaction that may still be running
    next: int  # the next transaction
    tenants: dict[str, int]
    more: bool = False  # there are further tenants after the last of these


class WorkersJob(msgspec.Struct, frozen=True):
    """A job that a worker holds."""

    tenant: str
    job_id: int
    task: str
    since: datetime


class WorkerInfo(msgspec.Struct, frozen=True):
    id: UUID
    host: str
    pid: int
    status: Literal["alive", "draining", "late", "dead", "left"]
    queues: tuple[str, ...] | None  # None: every queue
    started_at: datetime
    beat_at: datetime
    expires_at: datetime
    draining_at: datetime | None
    jobs: tuple[WorkersJob, ...]  # at most 100 of each tenant


class Held(msgspec.Struct, frozen=True):
    job: int
    token: int


class ExplainedReason(msgspec.Struct, frozen=True):
    reason: str
    sentence: str
    about: str | None


class Explanation(msgspec.Struct, frozen=True):
    job_id: int
    status: Status
    reasons: tuple[ExplainedReason, ...]


class Queue(msgspec.Struct, frozen=True):
    by_status: Mapping[str, int]
    oldest_seconds: float | None
    paused: bool


class Statistics(msgspec.Struct, frozen=True):
    total: int
    by_status: Mapping[str, int]
    queues: Mapping[str, Queue]
    refused: int
    recovered: int


class OpenRecord(msgspec.Struct, frozen=True):
    cancellation_id: str
    mark: str  # changes whenever the record does


class EndOfRecord(msgspec.Struct, frozen=True):
    id: int  # of the end, stable across repetitions
    cancellation_id: str


class Movements(msgspec.Struct, frozen=True):
    last: int
    open: tuple[OpenRecord, ...]
    ended: tuple[EndOfRecord, ...]


class Slot(msgspec.Struct, frozen=True):
    name: str
    job_id: int | None
    held_at: datetime | None


class Pool(msgspec.Struct, frozen=True):
    name: str
    created_at: datetime
    paused: bool
    slots: tuple[Slot, ...]


class Target(msgspec.Struct, frozen=True):
    name: str
    holder: int | None  # the job that holds it, from promotion to end
    blocked_by: tuple[int, ...]  # paused and failed jobs that block it
    line: int  # number of waiting jobs
    next: int | None  # the first waiting job
    paused: bool


class Strategy(msgspec.Struct, frozen=True):
    """A named set of stop options."""

    name: str
    options: Mapping[str, JSON]
    created_at: datetime
    created_by: str


class Token(msgspec.Struct, frozen=True):
    """A token without its secret, which is not stored."""

    id: int
    name: str
    role: Role
    tenant: str
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    revoked_at: datetime | None
    revoked_by: str | None


class TenantSeen(msgspec.Struct, frozen=True):
    name: str
    schema: str
    created_at: datetime
    paused: bool


class AuditRow(msgspec.Struct, frozen=True):
    id: int
    at: datetime
    actor: str
    via: str
    verb: str
    subject: str
    name: str
    reason: str | None
    before: Any
    after: Any
