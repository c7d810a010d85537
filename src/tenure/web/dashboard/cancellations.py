"""Stops: those that go on, by lateness, then those that are over."""

from starlette.requests import Request
from starlette.responses import Response

from tenure.domain.lifecycle import Intent
from tenure.errors import InputRefused
from tenure.store.calls import control_calls, diagnosis, queries
from tenure.web.authentication import caller_of
from tenure.web.dashboard import strip
from tenure.web.dashboard.actions import may_control
from tenure.web.dashboard.forms import form_of
from tenure.web.dashboard.overview import underway
from tenure.web.dashboard.rendering import redirect, render

ON_A_PAGE = 50


async def list_cancellations(request: Request) -> Response:
    caller = caller_of(request)
    skip = _skip(request)
    stops = await caller.asend(diagnosis.stops(200))
    found = await caller.asend(queries.cancellations(ON_A_PAGE + 1, skip))
    return render(
        request,
        "cancellations.html",
        stops=underway(stops, caller.client.settings) if not skip else [],
        records=[one for one in found[:ON_A_PAGE] if one.completed_at is not None],
        skip=skip,
        following=skip + ON_A_PAGE if len(found) > ON_A_PAGE else None,
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
    is_over = record.completed_at is not None
    return render(
        request,
        "cancellation.html",
        record=record,
        job=job,
        cells=strip.strip(record, job, settings),
        coming=strip.next_of(record, job, settings),
        marks=lambda number: strip.marks(record, number),
        may_roll_back=may_roll_back,
        live=None if is_over else f"/cancellations/{record.cancellation_id}/live",
        every=None if is_over else 2,
    )


async def roll_back(request: Request) -> Response:
    """Undo what the tasks of a cancelled job had completed."""
    name, form = request.path_params["cancellation"], form_of(request)
    made = await caller_of(request).asend(control_calls.rollback(name, reason=form.reason))
    return redirect(request, f"/jobs/{made['job']}")


def _skip(request: Request) -> int:
    text = request.query_params.get("skip", "0")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InputRefused("skip: it takes a number from 0 on")
    return int(text)
