"""Verbs by which people change jobs, queues, targets, tenants, pools and tokens."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, Unpack
from uuid import UUID

from tenure.domain.cancellation import CancellationRecord
from tenure.domain.inspection import Inspection
from tenure.domain.job import JSON, Job
from tenure.domain.lifecycle import Intent
from tenure.domain.principal import TOKEN_LIFETIME, Role
from tenure.domain.tenant import Tenant
from tenure.store.calls.policy_calls import StopRequest
from tenure.store.limit_results import Limit
from tenure.store.results import Pool, RunnerEnding, Strategy, Token
from tenure.store.verb import Actor, EncodedJSON, Int4, verb

Pausable = Literal["queue", "target", "pool", "schedule", "tenant"]
DatabaseRole = Literal["producer", "viewer", "operator", "admin", "worker"]


@verb(safe=True)
def stop(
    job: int,
    *,
    intent: Intent = Intent.CANCEL,
    reason: str | None = None,
    **options: Unpack[StopRequest],
) -> CancellationRecord: ...


@verb(safe=True)
def step(
    cancellation: str,
    name: str,
    status: str,
    *,
    details: Mapping[str, JSON] = {},
    error: str | None = None,
) -> CancellationRecord: ...


@verb(safe=True)
def note_reached(
    worker: UUID, cancellation: str, reached: Mapping[int, Mapping[str, str]]
) -> int: ...


@verb()
def close_record(
    cancellation: str,
    status: Literal["completed", "partial", "failed"],
    *,
    error: str | None = None,
) -> CancellationRecord: ...


@verb(safe=True)
def fail_records(worker: UUID, job: int, token: int, error: str) -> list[str]:
    """Close the records of a job whose end cannot be written; return their names."""


@verb()
def rollback(
    cancellation: str,
    tasks: Sequence[int] | None = None,
    *,
    reason: str | None = None,
    **actor: Unpack[Actor],
) -> dict[str, int]:
    """Undo the completed tasks of a cancelled job; return the id of the job that does so."""


@verb()
def resume(
    job: int,
    *,
    fresh: bool = False,
    reason: str | None = None,
    budget: Mapping[str, float] | None = None,
    value: EncodedJSON | None = None,
    **actor: Unpack[Actor],
) -> Job: ...


@verb()
def clear(
    job: int | None = None,
    *,
    target: str | None = None,
    reason: str | None = None,
    **actor: Unpack[Actor],
) -> dict[str, Any]: ...


@verb()
def rerun(
    job: int,
    *,
    reason: str | None = None,
    from_step: str | None = None,
    steps: Mapping[str, JSON] | None = None,
    **actor: Unpack[Actor],
) -> Job: ...


@verb(safe=True)
def inspect(job: int, **actor: Unpack[Actor]) -> Inspection:
    """Request an inspection of a running job; control/inspection.py waits for the answer."""


@verb(safe=True)
def end_runner(
    runner: str,
    *,
    reason: str | None = None,
    force: bool = False,
    grace: timedelta | None = None,
    **actor: Unpack[Actor],
) -> RunnerEnding:
    """End a runner and release all its jobs; the attempt does not count."""


@verb(safe=True)
def pause_dispatch(
    subject: Pausable, name: str = "", *, reason: str | None = None, **actor: Unpack[Actor]
) -> dict[str, Any]: ...


@verb(safe=True)
def resume_dispatch(
    subject: Pausable, name: str = "", *, reason: str | None = None, **actor: Unpack[Actor]
) -> dict[str, Any]: ...


@verb()
def create_pool(pool: str, slots: Sequence[str] = (), **actor: Unpack[Actor]) -> Pool: ...


@verb()
def change_slots(
    pool: str, *, add: Sequence[str] = (), remove: Sequence[str] = (), **actor: Unpack[Actor]
) -> Pool: ...


@verb()
def release_slot(
    pool: str, slot: str, *, reason: str | None = None, **actor: Unpack[Actor]
) -> Pool: ...


@verb(safe=True)
def set_limit(
    name: str,
    rates: Mapping[str, Mapping[str, JSON]] = {},
    *,
    at_once: Int4 | None = None,
    **actor: Unpack[Actor],
) -> Limit:
    """Create or replace a limit; ``rates`` is {"calls": {"amount": 60, "per": "1m"}, ...}."""


@verb()
def drop_limit(name: str, **actor: Unpack[Actor]) -> dict[str, str]: ...


@verb(safe=True)
def close_limit(
    name: str,
    *,
    duration: timedelta | None = None,
    reason: str | None = None,
    **actor: Unpack[Actor],
) -> Limit:
    """Let a limit, or one name of a template, grant nothing for a time, or until it is opened."""


@verb(safe=True)
def open_limit(
    name: str, *, reason: str | None = None, **actor: Unpack[Actor]
) -> dict[str, bool]: ...


@verb()
def set_strategy(name: str, options: Mapping[str, JSON], **actor: Unpack[Actor]) -> Strategy:
    """Create or replace a strategy; ``options`` are those of a stop, durations in seconds."""


@verb()
def drop_strategy(name: str, **actor: Unpack[Actor]) -> dict[str, Any]: ...


@verb()
def create_token(
    name: str,
    token_role: Role,
    of_tenant: Tenant,
    digest: bytes,
    lifetime: timedelta | None = TOKEN_LIFETIME,
    **actor: Unpack[Actor],
) -> Token:
    """Store the digest of a new token; control/tokens.py generates the secret."""


@verb(safe=True)
def revoke_token(
    id: int,
    *,
    reason: str | None = None,
    **actor: Unpack[Actor],
) -> Token: ...


@verb(control=True)
def log_in(token: bytes, session: bytes) -> dict[str, str] | None:
    """Begin a session by a token, both as digests; return its principal, None if not valid."""


@verb(control=True)
def create_login_code(token: bytes, code: bytes) -> dict[str, str] | None:
    """Store a code that logs in once in place of a token, both as digests."""


@verb(control=True)
def log_in_by_code(code: bytes, session: bytes) -> dict[str, str] | None:
    """Begin a session by a code, both as digests; return None if the code is not valid."""


@verb(safe=True, control=True)
def log_out(session: bytes) -> dict[str, bool]: ...


@verb()
def admit(role_name: str, kind: DatabaseRole) -> dict[str, Any]: ...


@verb()
def refuse(verb: str, why: str, **actor: Unpack[Actor]) -> dict[str, Any]:
    """Audit that the caller was not allowed to do this."""
