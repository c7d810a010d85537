"""The whole at a glance: statistics and the audit trail."""

from starlette.requests import Request

from tenure.store.calls import looking
from tenure.store.results import AuditRow, Statistics
from tenure.web import examples
from tenure.web.answers import Answer, page
from tenure.web.asking import Below, Limit
from tenure.web.entrance import behalf_of
from tenure.web.openapi import router, says

routes = router("overview", "/api")


@routes.get("/statistics", **says(Statistics, example=examples.STATISTICS))
async def statistics(request: Request) -> Answer:
    """Counts by status and by queue, refused writes and recoveries."""
    return Answer(await behalf_of(request).asend(looking.statistics()))


@routes.get("/audit", **says(tuple[AuditRow, ...], example=[examples.AUDIT]))
async def audit(
    request: Request,
    subject: str | None = None,
    name: str | None = None,
    below: Below = None,
    limit: Limit = 50,
) -> Answer:
    """What was done, by whom, why and through what; newest first."""
    rows = await behalf_of(request).asend(looking.trail(subject, name, below=below, n=limit))
    return page(request, rows, limit, rows[-1].id if rows else None)
