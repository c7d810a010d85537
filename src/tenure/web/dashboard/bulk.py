"""Bulk operations: the preview, the list, and the progress of each."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.bulk import WORDS, consequence
from tenure.domain.lifecycle import BulkIntent, Intent
from tenure.errors import InputRefused, NotFound
from tenure.store.calls import policy_calls, queries, upkeep
from tenure.store.policy_results import Bulk
from tenure.web.authentication import caller_of
from tenure.web.dashboard.form import Form
from tenure.web.dashboard.jobs import PAGE_SIZE, filters_of, read_filters
from tenure.web.dashboard.rendering import render

_ADVANCED_FOR = 3.0  # seconds that a request advances it; then workers do


async def preview(request: Request) -> Response:
    """Count the jobs that would be changed, and say what would be done to them."""
    caller = caller_of(request)
    given, intent = filters_of(request.query_params), _intent(request.query_params.get("intent"))
    found = await caller.asend(queries.bulk_preview(read_filters(given), intent))
    return render(
        request,
        "bulk_preview.html",
        given=given,
        intent=intent,
        intents=WORDS,
        consequence=consequence(found, intent),
        preview=found,
        strategies=await caller.asend(queries.strategies()),
    )


async def start_bulk(caller: AuthorizedClient, form: Form) -> Bulk:
    filters, intent = read_filters(filters_of(form)), _intent(form.get("intent"))
    match intent:
        case BulkIntent.RESUME:
            begin = policy_calls.bulk_resume(filters, form.stated_reason, fresh="fresh" in form)
        case BulkIntent.RERUN:
            begin = policy_calls.bulk_rerun(filters, form.stated_reason)
        case _:
            begin = policy_calls.bulk_stop(
                filters, Intent(intent), form.stated_reason, strategy=form.get("strategy")
            )
    return await _advance(caller, await caller.asend(begin))


async def carry_on_bulk(caller: AuthorizedClient, form: Form) -> Bulk:
    """Advance a bulk operation without a worker."""
    return await _advance(caller, await caller.asend(queries.bulk(_number(form.path["bulk"]))))


async def list_bulks(request: Request) -> Response:
    found = await caller_of(request).asend(queries.bulks(PAGE_SIZE))
    is_active = any(bulk.ended_at is None for bulk in found)
    return render(request, "bulks.html", bulks=found, every=2 if is_active else None)


async def show_bulk(request: Request) -> Response:
    bulk = await caller_of(request).asend(queries.bulk(_number(request.path_params["bulk"])))
    every = 1 if bulk.ended_at is None else None
    return render(request, "bulk.html", bulk=bulk, intents=WORDS, every=every)


async def _advance(caller: AuthorizedClient, bulk: Bulk) -> Bulk:
    loop = asyncio.get_running_loop()
    until = loop.time() + _ADVANCED_FOR
    while bulk.ended_at is None and loop.time() < until:
        moved = await caller.asend(upkeep.advance_bulk(bulk=bulk.id))
        if moved is None or moved == bulk:
            break
        bulk = moved
    return bulk


def _intent(text: str | None) -> BulkIntent:
    try:
        return BulkIntent(text or BulkIntent.CANCEL)
    except ValueError:
        raise InputRefused(f"intent: must be one of {', '.join(BulkIntent)}") from None


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise NotFound(f"there is no bulk operation {text[:20]!r}")
    return int(text)
