"""What was done and by whom, what comes by itself, and whether all is well."""

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim
from starlette.requests import Request
from starlette.responses import Response

from tenure.control.health import examine
from tenure.control.schedule import Schedule
from tenure.store.calls import queries
from tenure.web.authentication import caller_of
from tenure.web.dashboard.jobs import read_below
from tenure.web.dashboard.rendering import render

ON_A_PAGE = 50
_RUNS = 5


async def audit(request: Request) -> Response:
    asked = request.query_params
    subject, name = asked.get("subject") or None, asked.get("name") or None
    below = read_below(request)
    found = await caller_of(request).asend(
        queries.audit_log(subject, name, below=below, n=ON_A_PAGE + 1)
    )
    rows = found[:ON_A_PAGE]
    return render(
        request,
        "audit.html",
        rows=rows,
        subject=subject or "",
        name=name or "",
        below=below,
        following=rows[-1].id if len(found) > ON_A_PAGE else None,
    )


async def schedules(request: Request) -> Response:
    caller = caller_of(request)
    mine = caller.principal.tenant.name
    found = [one for one in caller.client.schedules.values() if one.tenant == mine]
    return render(
        request,
        "schedules.html",
        schedules=[(one, in_words(one), list(_next_runs(one))) for one in found],
    )


async def system(request: Request) -> Response:
    findings = [finding async for finding in examine(caller_of(request))]
    return render(request, "system.html", findings=findings)


def in_words(schedule: Schedule) -> str:
    now = datetime.now(ZoneInfo(schedule.tz))
    return CronSim(schedule.cron, now).explain()


def _next_runs(schedule: Schedule) -> Iterator[datetime]:
    """In its own time zone."""
    moment = datetime.now(UTC)
    for _ in range(_RUNS):
        moment = schedule.next_after(moment)
        yield moment.astimezone(ZoneInfo(schedule.tz))
