"""Stopping many jobs in one operation: counted first, then asked for, then followed."""

import asyncio
from typing import Annotated

from fastapi import Path
from starlette.requests import Request

from tenure.control.behalf import Behalf
from tenure.domain.lifecycle import Rung
from tenure.store.calls import keeping, looking, ruling
from tenure.store.ruled import Bulk, BulkPreview
from tenure.web import examples
from tenure.web.answers import Answer, place
from tenure.web.asking import Limit, body
from tenure.web.entrance import behalf_of
from tenure.web.limits import MOST_ID
from tenure.web.models import BulkBody, BulkPreviewBody
from tenure.web.openapi import router, says
from tenure.web.stops import bound, length

routes = router("bulk stops", "/api/bulk")

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
async def preview_bulk(request: Request) -> Answer:
    """How many jobs a bulk stop would reach, by status; nothing is stopped."""
    asked = await body(request, BulkPreviewBody)
    return Answer(
        await behalf_of(request).asend(
            looking.bulk_preview(asked.filter, asked.intent, force=asked.force)
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
async def start_bulk(request: Request) -> Answer:
    """Stop all jobs that match a filter; what is not done within `wait` the workers carry on."""
    asked = await body(request, BulkBody)
    wait = bound(asked.wait)
    behalf = behalf_of(request)
    started = await behalf.asend(
        ruling.bulk_stop(
            asked.filter,
            asked.intent,
            asked.reason,
            strategy=asked.strategy,
            force=asked.force,
            cascade=asked.cascade,
            grace=length("grace", asked.grace),
            ask_for=length("ask_for", asked.ask_for),
            last_rung=None if asked.last_rung is None else Rung(asked.last_rung),
            rollback=asked.rollback,
            preserve=asked.preserve,
        )
    )
    bulk = await _carried_on(behalf, started, wait.total_seconds())
    where = {"location": place(request, f"/api/bulk/{bulk.id}")}
    return Answer(bulk, 202 if bulk.ended_at is None else 200, where)


@routes.get("", **says(tuple[Bulk, ...], example=[examples.BULK]))
async def list_bulks(request: Request, limit: Limit = 10) -> Answer:
    """Bulk stops, newest first."""
    return Answer(await behalf_of(request).asend(looking.bulks(limit)))


@routes.get("/{bulk_id}", **says(Bulk, example=examples.BULK))
async def show_bulk(request: Request, bulk_id: Annotated[int, Path(ge=0, le=MOST_ID)]) -> Answer:
    """How far a bulk stop has come."""
    return Answer(await behalf_of(request).asend(looking.bulk(bulk_id)))


async def _carried_on(behalf: Behalf, bulk: Bulk, seconds: float) -> Bulk:
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while bulk.ended_at is None and loop.time() < until:
        moved = await behalf.asend(keeping.advance_bulk(bulk=bulk.id))
        if moved is None or moved == bulk:
            await asyncio.sleep(min(PAUSE, max(0, until - loop.time())))
            moved = await behalf.asend(looking.bulk(bulk.id))
        bulk = moved
    return bulk
