"""A job: as it is enqueued, and as it is read."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec

from tenure.domain.lifecycle import Reason, State, Status

JSON = Any  # what json.loads can return

ROLLBACK = "tenure.rollback"  # the task of a job that undoes others, as stop.sql has it
RESULT_ARTIFACT = "tenure/result.json"  # the artifact with a large result
NEVER = datetime.max.replace(tzinfo=UTC)  # run_at of a job that is created but not queued


class After(msgspec.Struct, frozen=True, omit_defaults=True):
    """A dependency of a job, and what to do if it did not complete."""

    job: int | str  # an id, or the key of a job of the same call
    policy: Literal["wait", "fail", "run"] = "wait"


class NewJob(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A job to enqueue. Without a task it has no code and ends as its children end."""

    task: str | None = None
    args: Mapping[str, JSON] = {}
    queue: str = "default"
    key: str | None = None
    priority: int = 0
    run_at: datetime | None = None
    delay: timedelta | None = None
    owner: str | None = None
    unique: str | None = None
    when_taken: Literal["return", "replace", "refuse"] = "return"
    idempotency: str | None = None
    key_scope: Literal["owner", "tenant"] = "owner"  # whose its unique and idempotency keys are
    target: str | None = None
    block_on: Sequence[Literal["paused", "failed"]] = ("paused", "failed")
    parent: int | str | None = None
    after: Sequence[int | str | After] = ()
    max_attempts: int = 4
    orphan: Literal["retry", "fail"] = "retry"
    options: Mapping[str, JSON] | None = None
    budget: Mapping[str, float] | None = None
    pools: Sequence[str] = ()
    limits: Sequence[str] | None = None
    tags: Sequence[str] | None = None

    def __repr__(self) -> str:
        """Return the fields without secrets."""
        secret = (self.options or {}).get("secret") or ()
        fields = msgspec.structs.asdict(self)
        fields["args"] = {n: "***" if n in secret else value for n, value in self.args.items()}
        return f"NewJob({', '.join(f'{name}={value!r}' for name, value in fields.items())})"


class EncodedJob(NewJob, frozen=True, omit_defaults=True, kw_only=True):
    """A job that its task has checked, with arguments as JSON that is sent as it is."""

    args: Any = msgspec.Raw(b"{}")

    def __repr__(self) -> str:
        fields = {**msgspec.structs.asdict(self), "args": msgspec.json.decode(self.args)}
        return repr(NewJob(**fields))


class JobSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a job that a list shows as well."""

    id: int
    root_id: int
    parent_id: int | None
    key: str | None
    task: str | None
    queue: str
    status: Status
    state: State
    waiting: Reason | None
    target: str | None
    run_at: datetime | None
    owner: str
    tags: tuple[str, ...] | None
    attempt: int
    max_attempts: int
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    cancellation_reason: str | None
    error_message: str | None
    pause_reason: str | None = None  # of who paused it, or what it gave when it paused itself
    progress: JSON = None
    args: JSON = None


class Job(JobSummary, frozen=True, kw_only=True):
    """A job as users see it. Without its token, which would let them report as its worker."""

    priority: int
    retry_count: int
    max_retries: int
    crashes: int
    worker_id: str | None
    lease_owner: str | None
    heartbeat_at: datetime | None
    last_heartbeat_at: datetime | None
    lease_expires_at: datetime | None
    cancel_requested: bool
    cancelled_at: datetime | None
    cancelled_by: str | None
    cancellation_id: str | None
    error: JSON = None
    budget: Mapping[str, int | float] | None = None
    options: JSON = None
    result: JSON = None
    result_artifact: str | None = None  # has the result, if that is large
    checkpoint: JSON = None
    checkpoints: int = 0
    checkpoint_times: tuple[datetime, ...] = ()  # of at most 51, evenly, the newest among them
    cleanup: JSON = None
    spent: Mapping[str, float] = {}
    spending: Mapping[str, tuple[tuple[datetime, float], ...]] = {}  # over time, in each unit
    slots: tuple[str, ...] = ()
    needs: tuple[Mapping[str, JSON], ...] = ()
    artifacts: tuple[Mapping[str, JSON], ...] = ()
    attempts: tuple[Mapping[str, JSON], ...] = ()
    partials: int = 0
    steps: int = 0
