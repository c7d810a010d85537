"""Stop records: those in progress, the latest first, then those that have ended."""

from starlette.requests import Request
from starlette.responses import Response

from tenure.domain.lifecycle import Intent
from tenure.errors import InputRefused
from tenure.store.calls import diagnosis, queries
from tenure.web.authentication import caller_of
from tenure.web.dashboard import strip
from tenure.web.dashboard.job_actions import may_control
from tenure.web.dashboard.jobs import PAGE_SIZE
from tenure.web.dashboard.overview import stop_rows
from tenure.web.dashboard.rendering import render
from tenure.web.limits import whole_number

_MAX_SKIP = 999_999_999


async def list_cancellations(request: Request) -> Response:
    caller = caller_of(request)
    skip = _skip(request)
    stops = await caller.asend(diagnosis.stops(200))
    found = await caller.asend(queries.cancellations(PAGE_SIZE + 1, skip))
    return render(
        request,
        "cancellations.html",
        stops=stop_rows(stops, caller.client.settings) if not skip else [],
        records=[record for record in found[:PAGE_SIZE] if record.completed_at is not None],
        skip=skip,
        following=skip + PAGE_SIZE if len(found) > PAGE_SIZE else None,
        live="/live",
        every=5 if stops else None,
    )


async def show_cancellation(request: Request) -> Response:
    caller = caller_of(request)
    record = await caller.asend(queries.cancellation(request.path_params["cancellation"]))
    job = await caller.asend(queries.show(record.task_id or record.job_id))
    settings = caller.client.settings
    may_roll_back = (
        record.intent is Intent.CANCEL
        and bool(record.tasks_completed)
        and may_control(caller.principal, job)
    )
    is_closed = record.completed_at is not None
    return render(
        request,
        "cancellation.html",
        record=record,
        job=job,
        cells=strip.strip(record, job, settings),
        coming=strip.next_of(record, job, settings),
        marks=lambda number: strip.marks(record, number),
        may_roll_back=may_roll_back,
        live=None if is_closed else f"/cancellations/{record.cancellation_id}/live",
        every=None if is_closed else 2,
    )


def _skip(request: Request) -> int:
    skip = whole_number(request.query_params.get("skip", "0"), _MAX_SKIP)
    if skip is None:
        raise InputRefused("skip: must be a number, 0 or more")
    return skip
