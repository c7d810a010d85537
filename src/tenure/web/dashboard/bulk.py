"""Stop, resume or rerun many jobs at once: counted first, then asked for, then followed."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.bulk import WORDS, consequence
from tenure.domain.lifecycle import BulkIntent, Intent
from tenure.errors import InputRefused, NotFound
from tenure.store.calls import policy_calls, queries, upkeep
from tenure.store.ruled import Bulk
from tenure.web.authentication import caller_of
from tenure.web.dashboard.forms import form_of
from tenure.web.dashboard.jobs import filters_of, read_filters
from tenure.web.dashboard.rendering import redirect, render

ON_A_PAGE = 50
_SEEN_TO = 3.0  # seconds that a request carries it on; then the workers do


async def preview(request: Request) -> Response:
    """Count the jobs that would be reached, and say what would be done to them."""
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


async def start(request: Request) -> Response:
    caller, form = caller_of(request), form_of(request)
    wanted, intent = read_filters(filters_of(form)), _intent(form.get("intent"))
    match intent:
        case BulkIntent.RESUME:
            begin = policy_calls.bulk_resume(wanted, form.stated_reason, fresh="fresh" in form)
        case BulkIntent.RERUN:
            begin = policy_calls.bulk_rerun(wanted, form.stated_reason)
        case _:
            strategy = form.get("strategy")
            begin = policy_calls.bulk_stop(
                wanted, Intent(intent), form.stated_reason, strategy=strategy
            )
    bulk = await caller.asend(begin)
    await _carry_on(caller, bulk)
    return redirect(request, f"/bulk/{bulk.id}")


async def list_bulks(request: Request) -> Response:
    found = await caller_of(request).asend(queries.bulks(ON_A_PAGE))
    goes_on = any(bulk.ended_at is None for bulk in found)
    return render(request, "bulks.html", bulks=found, every=2 if goes_on else None)


async def show(request: Request) -> Response:
    bulk = await caller_of(request).asend(queries.bulk(_number(request)))
    is_over = bulk.ended_at is not None
    return render(request, "bulk.html", bulk=bulk, intents=WORDS, every=None if is_over else 1)


async def carry_on(request: Request) -> Response:
    """See it through without a worker."""
    caller = caller_of(request)
    bulk = await caller.asend(queries.bulk(_number(request)))
    await _carry_on(caller, bulk)
    return redirect(request, f"/bulk/{bulk.id}")


async def _carry_on(caller: AuthorizedClient, bulk: Bulk) -> None:
    loop = asyncio.get_running_loop()
    until = loop.time() + _SEEN_TO
    while bulk.ended_at is None and loop.time() < until:
        moved = await caller.asend(upkeep.advance_bulk(bulk=bulk.id))
        if moved is None or moved == bulk:
            return
        bulk = moved


def _intent(text: str | None) -> BulkIntent:
    try:
        return BulkIntent(text or BulkIntent.CANCEL)
    except ValueError:
        raise InputRefused(f"many jobs take {', '.join(BulkIntent)}, and this is none") from None


def _number(request: Request) -> int:
    text: str = request.path_params["bulk"]
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise NotFound(f"there is no bulk operation {text[:20]!r}")
    return int(text)
