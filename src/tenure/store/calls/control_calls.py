"""What people do to jobs, queues, targets, tenants and pools."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, Unpack
from uuid import UUID

from tenure.domain.cancellation import CancellationRecord
from tenure.domain.inspection import Inspection
from tenure.domain.job import JSON, Job
from tenure.domain.lifecycle import Intent
from tenure.domain.principal import TOKEN_LIFETIME, Role
from tenure.domain.stop_options import StopOptions
from tenure.domain.tenant import Tenant
from tenure.store.call import Argument, Call
from tenure.store.calls.arguments import actor, as_list, of_job, of_stop, of_worker
from tenure.store.new_jobs import as_json
from tenure.store.reading import answer
from tenure.store.results import Pool, RunnerEnding, Strategy, Token


def stop(
    job: int,
    *,
    intent: Intent = Intent.CANCEL,
    reason: str | None = None,
    by: str | None = None,
    via: str = "python",
    **options: Unpack[StopOptions],
) -> Call[CancellationRecord]:
    rollback_tasks = as_list(options.pop("rollback_tasks", None))
    return Call(
        "stop",
        {
            **of_job(job),
            **of_stop(intent, reason, options),
            "rollback_tasks": Argument(rollback_tasks, "int8[]"),
            **actor(by, via),
        },
        answer(CancellationRecord),
        safe=True,
    )


def step(
    cancellation: str,
    name: str,
    status: str,
    *,
    details: Mapping[str, JSON] | None = None,
    error: str | None = None,
) -> Call[CancellationRecord]:
    return Call(
        "step",
        {
            "cancellation": Argument(cancellation, "text"),
            "name": Argument(name, "text"),
            "status": Argument(status, "text"),
            "details": Argument(as_json(details or {}), "jsonb"),
            "error": Argument(error, "text"),
        },
        answer(CancellationRecord),
        safe=True,
    )


def note_reached(
    worker: UUID, cancellation: str, reached: Mapping[int, Mapping[str, str]]
) -> Call[int]:
    return Call(
        "note_reached",
        {
            **of_worker(worker),
            "cancellation": Argument(cancellation, "text"),
            "reached": Argument(as_json({str(job): at for job, at in reached.items()}), "jsonb"),
        },
        answer(int),
        safe=True,
    )


def close_record(
    cancellation: str,
    status: Literal["completed", "partial", "failed"],
    *,
    error: str | None = None,
) -> Call[CancellationRecord]:
    return Call(
        "close_record",
        {
            "cancellation": Argument(cancellation, "text"),
            "status": Argument(status, "text"),
            "error": Argument(error, "text"),
        },
        answer(CancellationRecord),
    )


def fail_records(worker: UUID, job: int, token: int, error: str) -> Call[list[str]]:
    """Close the records of a job whose end cannot be written; return their names."""
    return Call(
        "fail_records",
        {
            **of_worker(worker),
            "job": Argument(job, "int8"),
            "token": Argument(token, "int8"),
            "error": Argument(error, "text"),
        },
        answer(list[str]),
        safe=True,
    )


def rollback(
    cancellation_id: str,
    tasks: Sequence[int] | None = None,
    *,
    reason: str | None = None,
    by: str | None = None,
    via: str = "python",
) -> Call[dict[str, int]]:
    """Undo what the completed tasks of a cancelled job did; the answer names the job that does."""
    return Call(
        "rollback",
        {
            "cancellation": Argument(cancellation_id, "text"),
            "tasks": Argument(as_list(tasks), "int8[]"),
            "reason": Argument(reason, "text"),
            **actor(by, via),
        },
        answer(dict[str, int]),
    )


def resume(
    job: int,
    *,
    fresh: bool = False,
    reason: str | None = None,
    budget: Mapping[str, float] | None = None,
    by: str | None = None,
    via: str = "python",
) -> Call[Job]:
    return Call(
        "resume",
        {
            **of_job(job),
            "fresh": Argument(fresh, "bool"),
            "reason": Argument(reason, "text"),
            "budget": Argument(None if budget is None else as_json(budget), "jsonb"),
            **actor(by, via),
        },
        answer(Job),
    )


def clear(
    job: int | None = None,
    *,
    target: str | None = None,
    reason: str | None = None,
    by: str | None = None,
    via: str = "python",
) -> Call[dict[str, Any]]:
    return Call(
        "clear",
        {
            **of_job(job),
            "target": Argument(target, "text"),
            "reason": Argument(reason, "text"),
            **actor(by, via),
        },
        answer(dict[str, Any]),
    )


def rerun(
    job: int, *, reason: str | None = None, by: str | None = None, via: str = "python"
) -> Call[Job]:
    return Call(
        "rerun", {**of_job(job), "reason": Argument(reason, "text"), **actor(by, via)}, answer(Job)
    )


def inspect(job: int, *, by: str | None = None, via: str = "python") -> Call[Inspection]:
    """Ask what a running job does; see control/inspection.py, which waits for the answer."""
    return Call("inspect", {**of_job(job), **actor(by, via)}, answer(Inspection), safe=True)


def end_runner(
    runner: str,
    *,
    reason: str | None = None,
    force: bool = False,
    grace: timedelta | None = None,
    by: str | None = None,
    via: str = "python",
) -> Call[RunnerEnding]:
    """End a runner; all jobs in it are given back, unspent."""
    return Call(
        "end_runner",
        {
            "runner": Argument(runner, "text"),
            "reason": Argument(reason, "text"),
            "force": Argument(force, "bool"),
            "grace": Argument(grace, "interval"),
            **actor(by, via),
        },
        answer(RunnerEnding),
        safe=True,
    )


def pause(
    subject: Literal["queue", "target", "pool", "tenant"],
    name: str = "",
    *,
    reason: str | None = None,
    by: str | None = None,
    via: str = "python",
) -> Call[dict[str, Any]]:
    return _pausing("pause", subject, name, reason, by, via)


def unpause(
    subject: Literal["queue", "target", "pool", "tenant"],
    name: str = "",
    *,
    reason: str | None = None,
    by: str | None = None,
    via: str = "python",
) -> Call[dict[str, Any]]:
    return _pausing("unpause", subject, name, reason, by, via)


def create_pool(
    pool: str, slots: Sequence[str] = (), *, by: str | None = None, via: str = "python"
) -> Call[Pool]:
    return Call(
        "create_pool",
        {
            "pool": Argument(pool, "text"),
            "slots": Argument(list(slots), "text[]"),
            **actor(by, via),
        },
        answer(Pool),
    )


def change_slots(
    pool: str,
    *,
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
    by: str | None = None,
    via: str = "python",
) -> Call[Pool]:
    return Call(
        "change_slots",
        {
            "pool": Argument(pool, "text"),
            "add": Argument(list(add), "text[]"),
            "remove": Argument(list(remove), "text[]"),
            **actor(by, via),
        },
        answer(Pool),
    )


def release_slot(
    pool: str,
    slot: str,
    *,
    reason: str | None = None,
    by: str | None = None,
    via: str = "python",
) -> Call[Pool]:
    return Call(
        "release_slot",
        {
            "pool": Argument(pool, "text"),
            "slot": Argument(slot, "text"),
            "reason": Argument(reason, "text"),
            **actor(by, via),
        },
        answer(Pool),
    )


def set_strategy(
    name: str, options: Mapping[str, JSON], *, by: str | None = None, via: str = "python"
) -> Call[Strategy]:
    """``options`` are those of a stop: grace and ask_for in seconds, force, last_rung and so on."""
    return Call(
        "set_strategy",
        {
            "name": Argument(name, "text"),
            "options": Argument(as_json(options), "jsonb"),
            **actor(by, via),
        },
        answer(Strategy),
    )


def drop_strategy(name: str, *, by: str | None = None, via: str = "python") -> Call[dict[str, Any]]:
    return Call(
        "drop_strategy", {"name": Argument(name, "text"), **actor(by, via)}, answer(dict[str, Any])
    )


def create_token(
    name: str,
    role: Role,
    tenant: Tenant,
    digest: bytes,
    lifetime: timedelta | None = TOKEN_LIFETIME,
    *,
    by: str | None = None,
    via: str = "python",
) -> Call[Token]:
    """See control/tokens.py, which draws the secret that this is the digest of."""
    return Call(
        "create_token",
        {
            "name": Argument(name, "text"),
            "token_role": Argument(str(role), "text"),
            "digest": Argument(digest, "bytea"),
            "lifetime": Argument(lifetime, "interval"),
            "of_tenant": Argument(tenant.name, "text"),
            **actor(by, via),
        },
        answer(Token),
    )


def log_in(token: bytes, session: bytes) -> Call[dict[str, str] | None]:
    """Begin a session by a token, both as digests; whose it is, or none: the token is of no use."""
    return Call(
        "log_in",
        {"token": Argument(token, "bytea"), "session": Argument(session, "bytea")},
        answer(dict[str, str] | None),
        control=True,
    )


def create_login_code(token: bytes, code: bytes) -> Call[dict[str, str] | None]:
    """Write down a code that logs in once, for a token; both as digests."""
    return Call(
        "create_login_code",
        {"token": Argument(token, "bytea"), "code": Argument(code, "bytea")},
        answer(dict[str, str] | None),
        control=True,
    )


def log_in_by_code(code: bytes, session: bytes) -> Call[dict[str, str] | None]:
    """Begin a session by a code, both as digests; none: the code is of no use."""
    return Call(
        "log_in_by_code",
        {"code": Argument(code, "bytea"), "session": Argument(session, "bytea")},
        answer(dict[str, str] | None),
        control=True,
    )


def log_out(session: bytes) -> Call[dict[str, bool]]:
    return Call(
        "log_out",
        {"session": Argument(session, "bytea")},
        answer(dict[str, bool]),
        safe=True,
        control=True,
    )


def revoke_token(
    id: int,  # noqa: A002
    *,
    reason: str | None = None,
    by: str | None = None,
    via: str = "python",
) -> Call[Token]:
    return Call(
        "revoke_token",
        {"id": Argument(id, "int8"), "reason": Argument(reason, "text"), **actor(by, via)},
        answer(Token),
        safe=True,
    )


def admit(
    role: str, kind: Literal["producer", "viewer", "operator", "admin", "worker"]
) -> Call[dict[str, Any]]:
    return Call(
        "admit",
        {"role_name": Argument(role, "text"), "kind": Argument(kind, "text")},
        answer(dict[str, Any]),
    )


def refuse(
    verb: str, why: str, *, by: str | None = None, via: str = "python"
) -> Call[dict[str, Any]]:
    """Put on record that somebody was not allowed to do this."""
    return Call(
        "refuse",
        {"verb": Argument(verb, "text"), "why": Argument(why, "text"), **actor(by, via)},
        answer(dict[str, Any]),
    )


def _pausing(
    verb: str, subject: str, name: str, reason: str | None, by: str | None, via: str
) -> Call[dict[str, Any]]:
    return Call(
        verb,
        {
            "subject": Argument(subject, "text"),
            "name": Argument(name, "text"),
            "reason": Argument(reason, "text"),
            **actor(by, via),
        },
        answer(dict[str, Any]),
        safe=True,
    )
