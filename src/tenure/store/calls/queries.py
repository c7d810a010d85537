"""Verbs that read jobs, records and what else a tenant holds."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, Unpack

from tenure.domain.cancellation import CancellationRecord, StopSummary
from tenure.domain.inspection import Inspection
from tenure.domain.job import Job
from tenure.domain.lifecycle import BulkIntent, Intent
from tenure.domain.tenant import Tenant
from tenure.store.answers import answer_reader
from tenure.store.call import Call
from tenure.store.calls.policy_calls import ALL_JOBS, Filter
from tenure.store.job_rows import JobRows
from tenure.store.limit_results import DispatchPause, Limit
from tenure.store.policy_results import Bulk, BulkPreview, Policy
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
    StreamPage,
    Target,
    TenantSeen,
    Token,
    WorkerInfo,
)
from tenure.store.rollups import History
from tenure.store.scale_results import Scale
from tenure.store.totals import Totals
from tenure.store.verb import Actor, Int4, verb


@verb(safe=True)
def show(job: int) -> Job: ...


@verb(safe=True)
def list_jobs(
    filter: Filter = ALL_JOBS, *, below: int | None = None, n: Int4 = 50
) -> tuple[Job, ...]: ...


@verb(safe=True)
def job_rows(
    filter: Filter = ALL_JOBS,
    *,
    below: int | None = None,
    n: Int4 = 50,
    open: Sequence[int] = (),
) -> JobRows:
    """Return a page of jobs as a list shows them, with the children of those that are ``open``."""


@verb(safe=True)
def status_counts(filter: Filter, statuses: Sequence[str], limit: Int4 = 1000) -> Mapping[str, int]:
    """Count the jobs of a filter in each status; ``limit`` + 1 stands for any larger count."""


@verb(safe=True)
def filter_values(name: str, prefix: str = "", n: Int4 = 10) -> tuple[str, ...]:
    """Return values of a filter that begin with ``prefix``."""


@verb(safe=True)
def job_with_key(key: str, **actor: Unpack[Actor]) -> Found: ...


@verb(safe=True)
def explain(job: int) -> Explanation: ...


@verb(safe=True)
def limits(name: str | None = None) -> tuple[Limit, ...]: ...


@verb(safe=True)
def statistics() -> Statistics: ...


def queues() -> Call[Mapping[str, Queue]]:
    """Return queues by name, from the statistics."""
    return Call(
        "statistics", {}, {}, lambda text: answer_reader(Statistics)(text).queues, safe=True
    )


@verb(safe=True)
def totals(grace: timedelta = timedelta(seconds=30)) -> Totals:
    """Return the counts for metrics; ``grace`` applies to stops that have none of their own."""


@verb(safe=True)
def scale(
    queues: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    *,
    within: timedelta = timedelta(minutes=1),
    min: Int4 = 0,
    max: Int4 | None = None,
) -> Scale:
    """Return how many workers the work wants so that ready jobs begin ``within`` a time."""


@verb(safe=True)
def history(
    span: timedelta = timedelta(hours=24),
    *,
    step: timedelta | None = None,
    queue: str | None = None,
) -> History:
    """Return what ended in the last ``span``, in this queue or in all."""


@verb(safe=True)
def cancellation(name: str | None = None, *, job: int | None = None) -> CancellationRecord: ...


@verb(safe=True)
def stop_summary(
    name: str | None = None, *, job: int | None = None, after: int = 0, n: Int4 = 0
) -> StopSummary: ...


@verb(safe=True)
def cancellations(n: Int4 = 10, skip: Int4 = 0) -> tuple[CancellationRecord, ...]: ...


@verb(safe=True)
def movements(above: int | None = None) -> Movements:
    """Return the open records, and those that ended since ``last`` of the previous answer."""


@verb(safe=True)
def audit_log(
    subject: str | None = None,
    name: str | None = None,
    *,
    below: int | None = None,
    n: Int4 = 50,
) -> tuple[AuditRow, ...]: ...


@verb(safe=True)
def job_output(
    job: int,
    kind: Literal["partials", "logs", "events"],
    *,
    above: int = 0,
    n: Int4 = 1000,
    newest: bool = False,
) -> tuple[dict[str, Any], ...]:
    """Return the first ``n`` above an id, or the newest ``n``; oldest first in both cases."""


@verb(safe=True)
def stream(
    job: int, above: int | None = None, *, n: Int4 = 200, follow: bool = False
) -> StreamPage:
    """Return the state of a job and its next output; ``follow``: reports of it notify readers."""


@verb(safe=True)
def runners(job: int) -> tuple[JobRunner, ...]:
    """Return the runners in which a job or one of its descendants runs."""


@verb(safe=True)
def inspection(job: int, **actor: Unpack[Actor]) -> Inspection | None:
    """Return the latest inspection of a running job, to a user who may stop the job."""


@verb(safe=True, control=True)
def workers(
    *,
    all: bool = False,
    of_tenant: str | None = None,
) -> tuple[WorkerInfo, ...]:
    """Return the workers that may run jobs of this tenant, or those of all tenants."""


@verb(safe=True)
def pools(pool: str | None = None) -> tuple[Pool, ...]: ...


@verb(safe=True)
def pauses() -> tuple[DispatchPause, ...]:
    """Return what is paused."""


@verb(safe=True)
def targets(
    target: str | None = None, n: Int4 = 50, *, after: str | None = None
) -> tuple[Target, ...]: ...


@verb(safe=True)
def strategies() -> tuple[Strategy, ...]: ...


@verb(safe=True)
def tokens(of_tenant: Tenant | None = None) -> tuple[Token, ...]:
    """Return the tokens of the calling tenant; the default tenant may name another, or see all."""


@verb(safe=True, control=True)
def principal(digest: bytes) -> dict[str, str] | None:
    """Return name, role and tenant of the token with this digest; None if it is not valid."""


@verb(safe=True, control=True)
def session_principal(session: bytes) -> dict[str, str] | None:
    """Return the principal of the session with this digest; None if the session has ended."""


@verb(safe=True)
def whoami() -> dict[str, str]:
    """Return name, role and tenant of the database user, for callers without a token."""


@verb(safe=True, control=True)
def tenants() -> tuple[TenantSeen, ...]: ...


@verb(safe=True)
def policies() -> tuple[Policy, ...]: ...


@verb(safe=True)
def bulk_preview(
    filter: Filter,
    intent: BulkIntent | Intent = BulkIntent.CANCEL,
    *,
    force: bool = False,
    **actor: Unpack[Actor],
) -> BulkPreview:
    """Count the jobs that a bulk operation would reach; an operator reaches its own jobs."""


@verb(safe=True)
def bulk(id: int) -> Bulk: ...


@verb(safe=True)
def bulks(n: Int4 = 10) -> tuple[Bulk, ...]: ...
