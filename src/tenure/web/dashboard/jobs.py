"""The list of jobs."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tenure.domain.job import Job
from tenure.domain.lifecycle import ENDED, Status
from tenure.domain.policy import SEVERAL
from tenure.domain.principal import Role
from tenure.domain.values import nearest_float
from tenure.errors import InputRefused
from tenure.store.calls import queries
from tenure.web.authentication import caller_of
from tenure.web.dashboard.rendering import render
from tenure.web.limits import MAX_ID

ON_A_PAGE = 50
FILTERS = ("status", "queue", "task", "target", "owner", "tag", "key", "text", "since", "until")


async def list_jobs(request: Request) -> Response:
    given = filters_of(request.query_params)
    below = read_below(request)
    found = await caller_of(request).asend(
        queries.list_jobs(read_filters(given), below=below, n=ON_A_PAGE + 1)
    )
    jobs = found[:ON_A_PAGE]
    return render(
        request,
        "jobs.html",
        jobs=jobs,
        statuses=list(Status),
        given={**dict.fromkeys(FILTERS, ""), **given, "status": _several(given.get("status"))},
        given_any=bool(given),
        may_stop_many=caller_of(request).principal.role.includes(Role.OPERATOR),
        below=below,
        following=jobs[-1].id if len(found) > ON_A_PAGE else None,
        how_far=how_far,
        live="/live",
    )


def filters_of(fields: Any) -> dict[str, str | list[str]]:
    """Return the filters as they were written: a list where several values were given."""
    found: dict[str, str | list[str]] = {}
    for name in FILTERS:
        said = [value for one in fields.getlist(name) if (value := one.strip())]
        if said:
            found[name] = said if name in SEVERAL and len(said) > 1 else said[-1]
    return found


def read_filters(given: Mapping[str, str | list[str]]) -> dict[str, Any]:
    return {
        name: read_timestamp(name, str(value)) if name in ("since", "until") else value
        for name, value in given.items()
    }


def _several(value: str | list[str] | None) -> list[str]:
    return value if isinstance(value, list) else [value] if value else []


def read_below(request: Request) -> int | None:
    text = request.query_params.get("below")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= MAX_ID):
        raise InputRefused("below: it takes the id of a row")
    return int(text)


def how_far(job: Job) -> float | None:
    """How much of it is done, from 0 to 1, if anybody knows."""
    progress = job.progress if isinstance(job.progress, dict) else {}
    done, total = progress.get("done"), progress.get("total")
    if (
        job.state in ENDED
        or not isinstance(done, int | float)
        or not isinstance(total, int | float)
    ):
        return None
    return min(max(nearest_float(done) / nearest_float(total), 0), 1) if total > 0 else None


def read_timestamp(name: str, text: str) -> str:
    """As a field for dates and times writes it, which is in UTC here."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputRefused(f"{name}: it takes a moment such as 2030-01-01T12:00") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()
