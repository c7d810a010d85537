"""The whole at a glance: statistics, what ended in the last hours, and the audit trail."""

from typing import Annotated

from fastapi import Query
from starlette.requests import Request

from tenure.domain.duration import duration
from tenure.store.calls import queries
from tenure.store.results import AuditRow, Statistics
from tenure.store.rollups import History
from tenure.web import examples
from tenure.web.authentication import caller_of
from tenure.web.context import Below, Limit
from tenure.web.openapi import router, says
from tenure.web.responses import JsonResponse, paged

routes = router("overview", "/api")


@routes.get("/statistics", **says(Statistics, example=examples.STATISTICS))
async def statistics(request: Request) -> JsonResponse:
    """Counts by status and by queue, refused writes and recoveries."""
    return JsonResponse(await caller_of(request).asend(queries.statistics()))


@routes.get("/history", **says(History, example=examples.HISTORY))
async def history(
    request: Request,
    span: Annotated[str, Query(description="How far back: 15m to 24h.")] = "24h",
    step: Annotated[
        str | None,
        Query(description="The length of a bucket: 5m, 15m, 30m or 1h; of one queue at least 15m."),
    ] = None,
    queue: Annotated[str | None, Query(description="Only jobs of this queue.")] = None,
) -> JsonResponse:
    """What ended lately: how many jobs and how, and p50 and p95 of how long they waited and ran."""
    length = None if step is None else duration(step)
    call = queries.history(duration(span), step=length, queue=queue)
    return JsonResponse(await caller_of(request).asend(call))


@routes.get("/audit", **says(tuple[AuditRow, ...], example=[examples.AUDIT]))
async def audit(
    request: Request,
    subject: str | None = None,
    name: str | None = None,
    below: Below = None,
    limit: Limit = 50,
) -> JsonResponse:
    """What was done, by whom, why and through what; newest first."""
    rows = await caller_of(request).asend(queries.audit_log(subject, name, below=below, n=limit))
    return paged(request, rows, limit, rows[-1].id if rows else None)
