"""What the verbs answer, as frozen values."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec

from tenure.domain.job import JSON
from tenure.domain.lifecycle import State, Status
from tenure.domain.principal import Role


class Enqueued(msgspec.Struct, frozen=True):
    id: int
    created: bool  # false: another job has the key, and this is it
    taken: str | None = None  # by which key: unique, idempotency, or its parent's
    key: str | None = None


class Found(msgspec.Struct, frozen=True):
    """A job that was looked for by its key."""

    id: int


class Claimed(msgspec.Struct, frozen=True):
    """A job that is this worker's now, with the token that proves it."""

    id: int
    token: int
    task: str
    queue: str
    raw_args: bytes  # as JSON: most who claim only pass them on
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
    alone: bool = False  # it is to run with no neighbours: a runner died with it
    waited_ms: int | None = None  # since it was due

    @property
    def args(self) -> Mapping[str, JSON]:
        args: Mapping[str, JSON] = msgspec.json.decode(self.raw_args)
        return args

    @property
    def checkpoint(self) -> JSON:
        if self.raw_checkpoint is None:
            return None
        checkpoint: JSON = msgspec.json.decode(self.raw_checkpoint)
        return checkpoint


class Unreadable(msgspec.Struct, frozen=True):
    """A job that is this worker's now, and whose row it cannot read."""

    id: int
    token: int
    why: str


class Claim(msgspec.Struct, frozen=True):
    jobs: tuple[Claimed, ...]
    floors: str  # hand it to the next claim; see claim.sql
    alive: bool
    unreadable: tuple[Unreadable, ...] = ()


class Signal(msgspec.Struct, frozen=True):
    """What a worker must hear about a job it holds."""

    id: int
    tenant: str
    job_id: int
    token: int
    orders: Mapping[str, JSON]


class Holding(msgspec.Struct, frozen=True):
    """A job that a worker believes to hold."""

    tenant: str
    job: int
    token: int


class RunnerOrder(msgspec.Struct, frozen=True):
    """How a runner is to end."""

    by: str
    force: bool
    reason: str | None = None
    grace: float | None = None  # seconds; none: as each of its jobs says


class JobRunner(msgspec.Struct, frozen=True):
    """A process that runs jobs, as its worker told at its last beat."""

    runner: str | None  # its id; none: these jobs began after that beat
    worker_id: UUID
    host: str
    as_of: datetime
    kind: str | None  # async, process or thread
    pid: int | None
    ending: bool  # somebody has asked for its end
    jobs: tuple[int, ...]  # those that were asked about
    others: int  # further jobs that share it


class RunnerEnding(msgspec.Struct, frozen=True):
    """A runner that was asked to end, and the jobs in it, which are given back."""

    runner: str
    worker_id: UUID
    jobs: tuple[int, ...]
    asked_at: datetime


class SignalsRead(msgspec.Struct, frozen=True):
    alive: bool  # false: declared dead; kill what still runs and start anew
    signals: tuple[Signal, ...]
    draining: bool = False
    ending: Mapping[str, RunnerOrder] = {}  # runners, by id, that somebody wants to end


class Renewal(SignalsRead, frozen=True):
    lost: tuple[Holding, ...] = ()  # of what it said it holds
    expires_at: datetime | None = None


class Finished(msgspec.Struct, frozen=True):
    accepted: Mapping[int, State]  # what became of each
    refused: tuple[int, ...]  # not this worker's any more
    busy: tuple[int, ...]  # locked by somebody just now; say it again
    wakes: bool  # there is something to promote
    repeated: tuple[int, ...] = ()  # of the refused: this worker has ended them before

    @property
    def late(self) -> list[int]:
        """The jobs that were another's when this came."""
        return [job for job in self.refused if job not in self.repeated]


class Exhausted(msgspec.Struct, frozen=True):
    job_id: int
    message: str


class Reported(msgspec.Struct, frozen=True):
    accepted: tuple[int, ...]
    refused: tuple[int, ...]
    busy: tuple[int, ...]
    exhausted: tuple[Exhausted, ...]
    granted: Mapping[str, Mapping[str, str]]  # job -> pool -> slot
    repeated: tuple[int, ...] = ()  # of the refused: this worker has ended them before

    @property
    def late(self) -> list[int]:
        """The jobs that were another's when this came."""
        return [job for job in self.refused if job not in self.repeated]


class Promoted(msgspec.Struct, frozen=True):
    linked: int
    due: int
    targets: int
    closed: int
    more: bool
    next_due: float | None = None  # seconds until the next job that waits for its time
    chores: tuple[str, ...] = ()  # what else there is to do for the tenant


class Exchanged(msgspec.Struct, frozen=True):
    alive: bool
    finished: Finished
    claims: tuple[Claim, ...]  # one for each want
    promoted: Promoted | None  # none: nobody promoted, or it failed
    promote_error: str | None
    next_due: float | None  # seconds; none also when nobody looked, because there is enough to do
    idled: bool  # only from here on it is told of new jobs: look once more


class CompletedTask(msgspec.Struct, frozen=True):
    """A task that a rollback undoes, with its real arguments."""

    id: int
    task: str | None
    args: Mapping[str, JSON]
    result: JSON
    secret: tuple[str, ...] | None  # the arguments that nobody is shown
    completed_at: datetime


class Dead(msgspec.Struct, frozen=True):
    worker_id: UUID
    host: str
    pid: int
    beat_at: datetime
    expires_at: datetime


class Sweep(msgspec.Struct, frozen=True):
    dead: tuple[Dead, ...]  # declared so just now
    tenants: tuple[str, ...]  # where the dead have claimed jobs


class TenantActivity(msgspec.Struct, frozen=True):
    """How far each tenant has come, before all that moved it is committed."""

    open: int  # the first transaction that may still be under way
    next: int  # the first that has not begun
    tenants: dict[str, int]
    more: bool = False  # there are further ones, after the last of these


class Recovered(msgspec.Struct, frozen=True):
    job: int
    state: State | None = None  # what became of it; not said in a dry run
    worker: str | None = None
    host: str | None = None  # of that worker; not said in a dry run, or when nobody knows it
    pid: int | None = None
    beat_at: datetime | None = None  # its last beat


class RecoveryResult(msgspec.Struct, frozen=True):
    dead: tuple[Dead, ...]
    blind_until: datetime | None  # nobody is declared dead before; the sweep itself had been away
    recovered: tuple[Recovered, ...]
    busy: tuple[int, ...]
    failed: tuple[int, ...]
    stale: tuple[int, ...]


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
    queues: tuple[str, ...] | None  # none: every queue
    started_at: datetime
    beat_at: datetime
    expires_at: datetime
    draining_at: datetime | None
    jobs: tuple[WorkersJob, ...]  # a hundred of each tenant at most


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
    mark: str  # another one when something of the record has moved


class EndOfRecord(msgspec.Struct, frozen=True):
    id: int  # of the end; told more than once it is the same
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
    holder: int | None  # the job that has it, from its promotion to its end
    blocked_by: tuple[int, ...]  # paused and failed jobs that keep it closed
    line: int  # how many wait for it
    next: int | None  # the first of them
    paused: bool


class Strategy(msgspec.Struct, frozen=True):
    """A named way to stop."""

    name: str
    options: Mapping[str, JSON]
    created_at: datetime
    created_by: str


class Serving(msgspec.Struct, frozen=True):
    digest: str
    workers: int


class KnownTask(msgspec.Struct, frozen=True):
    """A task as the newest announcement of it says."""

    name: str
    digest: str
    executor: str
    doc: str | None
    schema: Mapping[str, JSON] | None  # of its arguments; none: they are not described
    options: Mapping[str, JSON]  # the fields of its jobs, as it declares them
    target: str | None
    unique: str | None
    compensate: str | None
    everywhere: bool  # announced for all tenants
    first_announced_at: datetime
    announced_at: datetime
    serving: tuple[Serving, ...]  # what living workers have of it, by digest


class Token(msgspec.Struct, frozen=True):
    """What is known of a token; the token itself is known to whoever it was given to."""

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


class Pruned(msgspec.Struct, frozen=True):
    jobs: int
    events: int
    more: bool


class PrunedRecords(msgspec.Struct, frozen=True):
    records: int
    audit: int


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
