"""The list of jobs."""

from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tenure.domain.job import Job
from tenure.domain.lifecycle import ENDED, Status
from tenure.domain.principal import Role
from tenure.errors import InputRefused
from tenure.store.calls import looking
from tenure.web.entrance import behalf_of
from tenure.web.limits import MOST_ID
from tenure.web.page.rendering import page

ON_A_PAGE = 50
FILTERS = ("status", "queue", "task", "target", "owner", "tag", "key", "text", "since", "until")


async def list_jobs(request: Request) -> Response:
    given = filters_of(request.query_params)
    below = read_below(request)
    found = await behalf_of(request).asend(
        looking.list_jobs(read_filters(given), below=below, n=ON_A_PAGE + 1)
    )
    jobs = found[:ON_A_PAGE]
    return page(
        request,
        "jobs.html",
        jobs=jobs,
        statuses=list(Status),
        given={name: given.get(name, "") for name in FILTERS},
        given_any=bool(given),
        may_stop_many=behalf_of(request).principal.role.includes(Role.OPERATOR),
        below=below,
        following=jobs[-1].id if len(found) > ON_A_PAGE else None,
        how_far=how_far,
        live="/live",
    )


def filters_of(fields: Any) -> dict[str, str]:
    """What somebody filters by, as it was written."""
    return {name: value for name in FILTERS if (value := (fields.get(name) or "").strip())}


def read_filters(given: dict[str, str]) -> dict[str, Any]:
    return {
        name: read_moment(name, value) if name in ("since", "until") else value
        for name, value in given.items()
    }


def read_below(request: Request) -> int | None:
    text = request.query_params.get("below")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= MOST_ID):
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
    return min(max(done / total, 0), 1) if total > 0 else None


def read_moment(name: str, text: str) -> str:
    """As a field for dates and times writes it, which is in UTC here."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputRefused(f"{name}: it takes a moment such as 2030-01-01T12:00") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()
