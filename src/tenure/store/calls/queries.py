"""Looking at jobs and at what was done to them."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal

from tenure.domain.cancellation import CancellationRecord
from tenure.domain.inspection import Inspection
from tenure.domain.job import JSON, Job
from tenure.domain.lifecycle import BulkIntent, Intent
from tenure.domain.policy import read_filter
from tenure.domain.tenant import Tenant
from tenure.store.call import Argument, Call
from tenure.store.calls.arguments import actor, of_job
from tenure.store.new_jobs import as_json
from tenure.store.reading import answer
from tenure.store.results import (
    AuditRow,
    Explanation,
    Found,
    JobRunner,
    Movements,
    Pool,
    Queue,
    Statistics,
    Strategy,
    Target,
    TenantSeen,
    Token,
    Worker,
)
from tenure.store.rollups import History
from tenure.store.ruled import Bulk, BulkPreview, Policy
from tenure.store.totals import Totals


def show(job: int) -> Call[Job]:
    return Call("show", of_job(job), answer(Job), safe=True)


def list_jobs(
    filters: Mapping[str, JSON] | None = None, *, below: int | None = None, n: int = 50
) -> Call[tuple[Job, ...]]:
    return Call(
        "list_jobs",
        {
            "filter": Argument(as_json(read_filter(filters or {})), "jsonb"),
            "below": Argument(below, "int8"),
            "n": Argument(n, "int4"),
        },
        answer(tuple[Job, ...]),
        safe=True,
    )


def job_with_key(key: str, *, by: str | None = None, via: str = "python") -> Call[Found]:
    return Call(
        "job_with_key", {"key": Argument(key, "text"), **actor(by, via)}, answer(Found), safe=True
    )


def explain(job: int) -> Call[Explanation]:
    return Call("explain", of_job(job), answer(Explanation), safe=True)


def statistics() -> Call[Statistics]:
    return Call("statistics", {}, answer(Statistics), safe=True)


def totals(grace: timedelta = timedelta(seconds=30)) -> Call[Totals]:
    """What metrics are made of; ``grace`` is that of stops which do not say."""
    return Call("totals", {"grace": Argument(grace, "interval")}, answer(Totals), safe=True)


def history(
    span: timedelta = timedelta(hours=24),
    *,
    step: timedelta | None = None,
    queue: str | None = None,
) -> Call[History]:
    """What ended in the last ``span``; of one queue, or of all."""
    return Call(
        "history",
        {
            "span": Argument(span, "interval"),
            "step": Argument(step, "interval"),
            "queue": Argument(queue, "text"),
        },
        answer(History),
        safe=True,
    )


def cancellation(name: str | None = None, *, job: int | None = None) -> Call[CancellationRecord]:
    return Call(
        "cancellation",
        {"name": Argument(name, "text"), **of_job(job)},
        answer(CancellationRecord),
        safe=True,
    )


def cancellations(n: int = 10, skip: int = 0) -> Call[tuple[CancellationRecord, ...]]:
    return Call(
        "cancellations",
        {"n": Argument(n, "int4"), "skip": Argument(skip, "int4")},
        answer(tuple[CancellationRecord, ...]),
        safe=True,
    )


def movements(above: int | None = None) -> Call[Movements]:
    """Records that are open, and those that ended since ``last`` of the answer before."""
    return Call("movements", {"above": Argument(above, "int8")}, answer(Movements), safe=True)


def audit_log(
    subject: str | None = None, name: str | None = None, *, below: int | None = None, n: int = 50
) -> Call[tuple[AuditRow, ...]]:
    return Call(
        "audit_log",
        {
            "subject": Argument(subject, "text"),
            "name": Argument(name, "text"),
            "below": Argument(below, "int8"),
            "n": Argument(n, "int4"),
        },
        answer(tuple[AuditRow, ...]),
        safe=True,
    )


def job_output(
    job: int,
    kind: Literal["partials", "logs", "events"],
    *,
    above: int = 0,
    n: int = 1000,
    newest: bool = False,
) -> Call[tuple[dict[str, Any], ...]]:
    """Oldest first: the first so many of them, or the ``newest``."""
    return Call(
        "job_output",
        {
            **of_job(job),
            "kind": Argument(kind, "text"),
            "above": Argument(above, "int8"),
            "n": Argument(n, "int4"),
            "newest": Argument(newest, "bool"),
        },
        answer(tuple[dict[str, Any], ...]),
        safe=True,
    )


def runners(job: int) -> Call[tuple[JobRunner, ...]]:
    """Runners in which a job or anything below it runs."""
    return Call("runners", of_job(job), answer(tuple[JobRunner, ...]), safe=True)


def inspection(job: int, *, by: str | None = None, via: str = "python") -> Call[Inspection | None]:
    """The latest look into a job that runs; ``by`` because only who may stop it sees that."""
    return Call(
        "inspection", {**of_job(job), **actor(by, via)}, answer(Inspection | None), safe=True
    )


def workers(
    *,
    all: bool = False,  # noqa: A002
    of_tenant: str | None = None,
) -> Call[tuple[Worker, ...]]:
    """Look at the workers that may run jobs of this tenant, or at those of all tenants."""
    return Call(
        "workers",
        {"all": Argument(all, "bool"), "of_tenant": Argument(of_tenant, "text")},
        answer(tuple[Worker, ...]),
        safe=True,
        control=True,
    )


def pools(pool: str | None = None) -> Call[tuple[Pool, ...]]:
    return Call("pools", {"pool": Argument(pool, "text")}, answer(tuple[Pool, ...]), safe=True)


def targets(
    target: str | None = None, n: int = 50, *, after: str | None = None
) -> Call[tuple[Target, ...]]:
    return Call(
        "targets",
        {
            "target": Argument(target, "text"),
            "n": Argument(n, "int4"),
            "after": Argument(after, "text"),
        },
        answer(tuple[Target, ...]),
        safe=True,
    )


def queues() -> Call[Mapping[str, Queue]]:
    """Queues by name, from the statistics."""
    return Call("statistics", {}, lambda text: answer(Statistics)(text).queues, safe=True)


def strategies() -> Call[tuple[Strategy, ...]]:
    return Call("strategies", {}, answer(tuple[Strategy, ...]), safe=True)


def tokens(tenant: Tenant | None = None) -> Call[tuple[Token, ...]]:
    """Of the tenant that asks; the default tenant sees those of all, or of one."""
    name = None if tenant is None else tenant.name
    return Call(
        "tokens", {"of_tenant": Argument(name, "text")}, answer(tuple[Token, ...]), safe=True
    )


def principal(digest: bytes) -> Call[dict[str, str] | None]:
    """Whose token has this digest: name, role and tenant; none when it is of no use."""
    return Call(
        "principal",
        {"digest": Argument(digest, "bytea")},
        answer(dict[str, str] | None),
        safe=True,
        control=True,
    )


def session_principal(session: bytes) -> Call[dict[str, str] | None]:
    """Whose session of the page has this digest; none when it has ended."""
    return Call(
        "session_principal",
        {"session": Argument(session, "bytea")},
        answer(dict[str, str] | None),
        safe=True,
        control=True,
    )


def whoami() -> Call[dict[str, str]]:
    """Who is connected, for whoever brings no token: name, role and tenant."""
    return Call("whoami", {}, answer(dict[str, str]), safe=True)


def tenants() -> Call[tuple[TenantSeen, ...]]:
    return Call("tenants", {}, answer(tuple[TenantSeen, ...]), safe=True, control=True)


def policies() -> Call[tuple[Policy, ...]]:
    return Call("policies", {}, answer(tuple[Policy, ...]), safe=True)


def bulk_preview(
    filters: Mapping[str, JSON],
    intent: BulkIntent | Intent = BulkIntent.CANCEL,
    *,
    force: bool = False,
    by: str | None = None,
    via: str = "python",
) -> Call[BulkPreview]:
    """Count what a bulk operation would reach; an operator reaches its own jobs."""
    return Call(
        "bulk_preview",
        {
            "filter": Argument(as_json(read_filter(filters)), "jsonb"),
            "intent": Argument(str(intent), "text"),
            "force": Argument(force, "bool"),
            **actor(by, via),
        },
        answer(BulkPreview),
        safe=True,
    )


def bulk(id: int) -> Call[Bulk]:  # noqa: A002
    return Call("bulk", {"id": Argument(id, "int8")}, answer(Bulk), safe=True)


def bulks(n: int = 10) -> Call[tuple[Bulk, ...]]:
    return Call("bulks", {"n": Argument(n, "int4")}, answer(tuple[Bulk, ...]), safe=True)
