"""Statistics, the history of ended jobs, what they left open, and the audit log."""

from typing import Annotated

from fastapi import Query
from starlette.requests import Request

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.bounds import MAX_FLEET
from tenure.domain.duration import duration
from tenure.store.calls import diagnosis, queries, task_calls
from tenure.store.diagnosis_results import Leak
from tenure.store.results import AuditRow, Statistics
from tenure.store.rollups import History, TaskRuns
from tenure.store.scale_results import Scale
from tenure.web.context import Below, Limit
from tenure.web.responses import JsonResponse, paged
from tenure.web.routes import Routes

routes = Routes("overview", "/api")


@routes.get("/statistics")
async def statistics(caller: AuthorizedClient) -> Statistics:
    """Count jobs by status and by queue, refused writes and recoveries."""
    return await caller.asend(queries.statistics())


@routes.get("/scale")
async def scale(
    caller: AuthorizedClient,
    queue: Annotated[list[str] | None, Query(description="Only these queues.")] = None,
    task: Annotated[list[str] | None, Query(description="Only these tasks.")] = None,
    within: Annotated[str, Query(description="Ready jobs should begin within: 1s to 24h.")] = "1m",
    min: Annotated[int, Query(ge=0, le=MAX_FLEET, description="Fewest workers.")] = 0,  # noqa: A002
    max: Annotated[  # noqa: A002
        int | None, Query(ge=0, le=MAX_FLEET, description="Most workers.")
    ] = None,
) -> Scale:
    """Return how many workers the work wants, why, and in which order to drain workers."""
    return await caller.asend(queries.scale(queue, task, within=duration(within), min=min, max=max))


@routes.get("/history")
async def history(
    caller: AuthorizedClient,
    span: Annotated[str, Query(description="How far back: 15m to 24h.")] = "24h",
    step: Annotated[
        str | None,
        Query(description="Bucket size: 5m, 15m, 30m or 1h; at least 15m for a single queue."),
    ] = None,
    queue: Annotated[str | None, Query(description="Only jobs of this queue.")] = None,
) -> History:
    """Count jobs that ended recently, with p50 and p95 of their wait and run times."""
    size = None if step is None else duration(step)
    return await caller.asend(queries.history(duration(span), step=size, queue=queue))


@routes.get("/task-runs")
async def task_runs(
    caller: AuthorizedClient,
    task: Annotated[str | None, Query(description="Only jobs of this task.")] = None,
    jobs: Annotated[int, Query(ge=1, le=100_000, description="How many of the newest jobs.")] = (
        10_000
    ),
) -> tuple[TaskRuns, ...]:
    """Count how the newest jobs of each task ended, and how long they ran."""
    return await caller.asend(task_calls.task_runs(task, jobs))


@routes.get("/leaks")
async def list_leaks(caller: AuthorizedClient, limit: Limit = 50) -> tuple[Leak, ...]:
    """List ended jobs that left a resource open, newest first, with what is still open."""
    return await caller.asend(diagnosis.leaks(limit))


@routes.get("/audit", returns=tuple[AuditRow, ...])
async def audit(
    request: Request,
    caller: AuthorizedClient,
    subject: str | None = None,
    name: str | None = None,
    below: Below = None,
    limit: Limit = 50,
) -> JsonResponse[tuple[AuditRow, ...]]:
    """List audited actions, newest first: who did what, why, and through which interface."""
    rows = await caller.asend(queries.audit_log(subject, name, below=below, n=limit))
    return paged(request, rows, limit)
