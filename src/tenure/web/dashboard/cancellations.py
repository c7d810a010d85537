"""Stop records that have ended, the latest first, and the page of one record."""

from starlette.requests import Request
from starlette.responses import Response

from tenure.domain.lifecycle import Intent
from tenure.errors import InputRefused
from tenure.store.calls import family_calls, queries
from tenure.web.authentication import caller_of
from tenure.web.dashboard import strip
from tenure.web.dashboard.job_actions import may_control, offered
from tenure.web.dashboard.jobs import PAGE_SIZE
from tenure.web.dashboard.rendering import render
from tenure.web.dashboard.stop_view import MAX_LANES, names_of, stop_view
from tenure.web.limits import MAX_ID, whole_number

_MAX_SKIP = 999_999_999
_MAX_MEMBERS = 200  # of a record on one page


async def list_cancellations(request: Request) -> Response:
    caller = caller_of(request)
    skip = _number(request, "skip", _MAX_SKIP)
    found = await caller.asend(queries.cancellations(PAGE_SIZE + 1, skip))
    return render(
        request,
        "cancellations.html",
        records=[record for record in found[:PAGE_SIZE] if record.completed_at is not None],
        skip=skip,
        following=skip + PAGE_SIZE if len(found) > PAGE_SIZE else None,
        live="/live",
    )


async def show_cancellation(request: Request) -> Response:
    caller = caller_of(request)
    after = _number(request, "after", MAX_ID)
    stop = await caller.asend(
        queries.stop_summary(request.path_params["cancellation"], after=after, n=_MAX_MEMBERS + 1)
    )
    record = stop.record
    job = await caller.asend(queries.show(record.task_id or record.job_id))
    family = await caller.asend(family_calls.family(job.id, n=MAX_LANES))
    settings = caller.client.settings
    may_roll_back = (
        record.intent is Intent.CANCEL and stop.completed > 0 and may_control(caller.principal, job)
    )
    is_closed = record.completed_at is not None
    page = stop.page[:_MAX_MEMBERS]
    return render(
        request,
        "cancellation.html",
        record=record,
        job=job,
        stop=stop_view(stop, job, settings, names_of(family)),
        force=next((each for each in offered(caller.principal, job) if each.verb == "force"), None),
        marks=lambda number: strip.marks(record, number),
        members=[member for member in record.members if member.job_id in set(page)],
        jobs=stop.members,
        after=after,
        following=page[-1] if len(stop.page) > len(page) else None,
        may_roll_back=may_roll_back,
        live=None if is_closed else f"/cancellations/{record.cancellation_id}/live",
        every=None if is_closed else 2,
    )


def _number(request: Request, name: str, limit: int) -> int:
    number = whole_number(request.query_params.get(name, "0"), limit)
    if number is None:
        raise InputRefused(f"{name}: must be a number, 0 or more")
    return number
