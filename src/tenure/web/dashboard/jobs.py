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
from tenure.web.limits import whole_number

PAGE_SIZE = 50
FILTERS = ("status", "queue", "task", "target", "owner", "tag", "key", "text", "since", "until")


async def list_jobs(request: Request) -> Response:
    given = filters_of(request.query_params)
    below = read_below(request)
    found = await caller_of(request).asend(
        queries.list_jobs(read_filters(given), below=below, n=PAGE_SIZE + 1)
    )
    jobs = found[:PAGE_SIZE]
    return render(
        request,
        "jobs.html",
        jobs=jobs,
        statuses=list(Status),
        given={**dict.fromkeys(FILTERS, ""), **given, "status": _several(given.get("status"))},
        given_any=bool(given),
        may_stop_many=caller_of(request).principal.role.includes(Role.OPERATOR),
        below=below,
        following=jobs[-1].id if len(found) > PAGE_SIZE else None,
        progress_of=progress_of,
        live="/live",
    )


def filters_of(fields: Any) -> dict[str, str | list[str]]:
    """Return the given filters; a filter with several values is a list."""
    found: dict[str, str | list[str]] = {}
    for name in FILTERS:
        values = [value for given in fields.getlist(name) if (value := given.strip())]
        if values:
            found[name] = values if name in SEVERAL and len(values) > 1 else values[-1]
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
    if (below := whole_number(text)) is None:
        raise InputRefused("below: must be the id of a row")
    return below


def progress_of(job: Job) -> float | None:
    """Return the share of a job that is done, from 0 to 1; none if it is not known."""
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
    """Read the value of a datetime-local field, which is in UTC here."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InputRefused(f"{name}: must be a time such as 2030-01-01T12:00") from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).isoformat()
