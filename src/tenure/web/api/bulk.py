"""Stop, resume or rerun many jobs in one operation: counted, then asked for, then followed."""

import asyncio
from typing import Annotated, Any

from fastapi import Path
from starlette.requests import Request

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.lifecycle import BulkIntent, Intent, Rung
from tenure.errors import InputRefused
from tenure.store.call import Call
from tenure.store.calls import policy_calls, queries, upkeep
from tenure.store.ruled import Bulk, BulkPreview
from tenure.web import examples
from tenure.web.authentication import caller_of
from tenure.web.context import Limit, read_body
from tenure.web.limits import MOST_ID
from tenure.web.models import BulkBody, BulkPreviewBody
from tenure.web.openapi import router, says
from tenure.web.responses import JsonResponse, location
from tenure.web.stops import bound, length

routes = router("bulk operations", "/api/bulk")

PAUSE = 0.1  # seconds between two looks while somebody else carries it on


@routes.post(
    "/preview",
    **says(
        BulkPreview,
        takes=BulkPreviewBody,
        sent={"filter": {"queue": "crawl"}},
        example=examples.PREVIEW,
    ),
)
async def preview_bulk(request: Request) -> JsonResponse:
    """How many jobs a bulk operation would reach, by status; nothing is done."""
    asked = await read_body(request, BulkPreviewBody)
    return JsonResponse(
        await caller_of(request).asend(
            queries.bulk_preview(asked.filter, asked.intent, force=asked.force)
        )
    )


@routes.post(
    "",
    **says(
        Bulk,
        also={202: Bulk},
        takes=BulkBody,
        sent={"filter": {"queue": "crawl"}, "reason": "wrong site"},
        example=examples.BULK,
    ),
)
async def start_bulk(request: Request) -> JsonResponse:
    """Cancel, pause, resume or rerun all jobs that match a filter.

    What is not done within `wait` the workers carry on. A resume takes `reason` and `fresh`, a
    rerun `reason`; the other options are those of a stop.
    """
    asked = await read_body(request, BulkBody)
    wait = bound(asked.wait)
    caller = caller_of(request)
    started = await caller.asend(_begin(asked))
    bulk = await _carried_on(caller, started, wait.total_seconds())
    where = {"location": location(request, f"/api/bulk/{bulk.id}")}
    return JsonResponse(bulk, 202 if bulk.ended_at is None else 200, where)


@routes.get("", **says(tuple[Bulk, ...], example=[examples.BULK]))
async def list_bulks(request: Request, limit: Limit = 10) -> JsonResponse:
    """Bulk operations, newest first."""
    return JsonResponse(await caller_of(request).asend(queries.bulks(limit)))


@routes.get("/{bulk_id}", **says(Bulk, example=examples.BULK))
async def show_bulk(
    request: Request, bulk_id: Annotated[int, Path(ge=0, le=MOST_ID)]
) -> JsonResponse:
    """How far a bulk operation has come."""
    return JsonResponse(await caller_of(request).asend(queries.bulk(bulk_id)))


def _begin(asked: BulkBody) -> Call[Bulk]:
    manner: dict[str, Any] = {
        "strategy": asked.strategy,
        "force": asked.force,
        "cascade": asked.cascade,
        "grace": length("grace", asked.grace),
        "ask_for": length("ask_for", asked.ask_for),
        "last_rung": None if asked.last_rung is None else Rung(asked.last_rung),
        "rollback": asked.rollback,
        "preserve": asked.preserve,
    }
    said = [name for name, value in manner.items() if value]
    if asked.intent in (BulkIntent.RESUME, BulkIntent.RERUN) and said:
        raise InputRefused(f"{', '.join(said)}: for a stop; a {asked.intent} does not take it")
    if asked.fresh and asked.intent is not BulkIntent.RESUME:
        raise InputRefused("fresh: for a resume; no other intent takes it")
    match asked.intent:
        case BulkIntent.RESUME:
            return policy_calls.bulk_resume(asked.filter, asked.reason, fresh=asked.fresh)
        case BulkIntent.RERUN:
            return policy_calls.bulk_rerun(asked.filter, asked.reason)
        case _:
            return policy_calls.bulk_stop(
                asked.filter, Intent(asked.intent), asked.reason, **manner
            )


async def _carried_on(caller: AuthorizedClient, bulk: Bulk, seconds: float) -> Bulk:
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while bulk.ended_at is None and loop.time() < until:
        moved = await caller.asend(upkeep.advance_bulk(bulk=bulk.id))
        if moved is None or moved == bulk:
            await asyncio.sleep(min(PAUSE, max(0, until - loop.time())))
            moved = await caller.asend(queries.bulk(bulk.id))
        bulk = moved
    return bulk
