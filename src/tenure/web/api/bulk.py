"""Bulk operations: preview, start and follow a stop, resume or rerun of many jobs."""

import asyncio
from typing import Annotated

from fastapi import Path
from starlette.requests import Request

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.bulk import bulk_call
from tenure.domain.lifecycle import BulkIntent
from tenure.errors import InputRefused
from tenure.store.call import Call
from tenure.store.calls import queries, upkeep
from tenure.store.policy_results import Bulk, BulkPreview
from tenure.web.context import Limit
from tenure.web.limits import MAX_ID
from tenure.web.models import BulkBody, BulkPreviewBody
from tenure.web.responses import JsonResponse, location
from tenure.web.routes import Routes
from tenure.web.stops import read_wait

routes = Routes("bulk operations", "/api/bulk")

PAUSE = 0.1  # seconds between two polls while a worker advances it


@routes.post("/preview")
async def preview_bulk(caller: AuthorizedClient, body: BulkPreviewBody) -> BulkPreview:
    """Count the jobs that a bulk operation would change, by status. Changes nothing."""
    return await caller.asend(queries.bulk_preview(body.filter, body.intent, force=body.force))


@routes.post("", also={202: Bulk})
async def start_bulk(
    request: Request, caller: AuthorizedClient, body: BulkBody
) -> JsonResponse[Bulk]:
    """Cancel, pause, resume or rerun all jobs that match a filter.

    Workers finish what is not done within `wait`. A resume takes `reason` and `fresh`, a rerun
    takes `reason`; the other options apply to stops only.
    """
    wait = read_wait(body.wait)
    bulk = await begin_bulk(caller, body, wait.total_seconds())
    where = location(request, f"/api/bulk/{bulk.id}")
    return JsonResponse(bulk, 202 if bulk.ended_at is None else 200, where)


@routes.get("")
async def list_bulks(caller: AuthorizedClient, limit: Limit = 10) -> tuple[Bulk, ...]:
    """List bulk operations, newest first."""
    return await caller.asend(queries.bulks(limit))


@routes.get("/{bulk_id}")
async def show_bulk(
    caller: AuthorizedClient, bulk_id: Annotated[int, Path(ge=0, le=MAX_ID)]
) -> Bulk:
    """Show the progress of a bulk operation."""
    return await caller.asend(queries.bulk(bulk_id))


async def begin_bulk(caller: AuthorizedClient, body: BulkBody, seconds: float) -> Bulk:
    """Begin an operation, and advance it for some time."""
    return await advance_bulk(caller, await caller.asend(_first_call(body)), seconds)


def _first_call(body: BulkBody) -> Call[Bulk]:
    options = body.options()
    given = [name for name, value in options.items() if value]
    if body.intent in (BulkIntent.RESUME, BulkIntent.RERUN) and given:
        raise InputRefused(f"{', '.join(given)}: only for a stop; a {body.intent} does not take it")
    if body.fresh and body.intent is not BulkIntent.RESUME:
        raise InputRefused("fresh: only for a resume")
    return bulk_call(body.filter, body.intent, body.reason, fresh=body.fresh, **options)


async def advance_bulk(caller: AuthorizedClient, bulk: Bulk, seconds: float) -> Bulk:
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while bulk.ended_at is None and loop.time() < until:
        moved = await caller.asend(upkeep.advance_bulk(bulk=bulk.id))
        if moved is None or moved == bulk:
            await asyncio.sleep(min(PAUSE, max(0, until - loop.time())))
            moved = await caller.asend(queries.bulk(bulk.id))
        bulk = moved
    return bulk
