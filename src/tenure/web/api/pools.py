"""Pools and their slots."""

from starlette.requests import Request

from tenure.errors import NotFound
from tenure.store.calls import control_calls, queries
from tenure.store.results import Pool
from tenure.web import examples
from tenure.web.api.queues import PAUSES, pausing
from tenure.web.authentication import caller_of
from tenure.web.context import read_body
from tenure.web.models import PoolBody, ReasonBody, SlotsBody
from tenure.web.openapi import router, says
from tenure.web.responses import JsonResponse, location

routes = router("pools", "/api/pools")


@routes.get("", **says(tuple[Pool, ...], example=[examples.POOL]))
async def list_pools(request: Request) -> JsonResponse:
    """Pools with their slots, and who holds them."""
    return JsonResponse(await caller_of(request).asend(queries.pools()))


@routes.post(
    "",
    **says(
        Pool,
        status=201,
        takes=PoolBody,
        sent={"name": "trees", "slots": ["oak", "elm"]},
        wrong=(409,),
        example=examples.POOL,
    ),
)
async def create_pool(request: Request) -> JsonResponse:
    """Make a pool of named slots."""
    asked = await read_body(request, PoolBody)
    made = await caller_of(request).asend(control_calls.create_pool(asked.name, asked.slots))
    return JsonResponse(made, 201, {"location": location(request, f"/api/pools/{asked.name}")})


@routes.post("/{pool:path}/pause", **PAUSES)
async def pause_pool(request: Request, pool: str) -> JsonResponse:
    """Start nothing that needs a slot of this pool until it is resumed."""
    return await pausing(request, "pause", "pool", pool)


@routes.post("/{pool:path}/resume", **PAUSES)
async def resume_pool(request: Request, pool: str) -> JsonResponse:
    """Let a paused pool go on."""
    return await pausing(request, "unpause", "pool", pool)


@routes.post(
    "/{pool:path}/slots/{slot:path}/release",
    **says(Pool, takes=ReasonBody, wrong=(409,), example=examples.POOL),
)
async def release_slot(request: Request, pool: str, slot: str) -> JsonResponse:
    """Take a slot from a job that holds it and does not run."""
    asked = await read_body(request, ReasonBody)
    return JsonResponse(
        await caller_of(request).asend(control_calls.release_slot(pool, slot, reason=asked.reason))
    )


@routes.post(
    "/{pool:path}/slots",
    **says(
        Pool,
        takes=SlotsBody,
        sent={"add": ["ash"], "remove": ["elm"]},
        wrong=(409,),
        example=examples.POOL,
    ),
)
async def change_slots(request: Request, pool: str) -> JsonResponse:
    """Add slots to a pool, and take away free ones."""
    asked = await read_body(request, SlotsBody)
    return JsonResponse(
        await caller_of(request).asend(
            control_calls.change_slots(pool, add=asked.add, remove=asked.remove)
        )
    )


@routes.get("/{pool:path}", **says(Pool, example=examples.POOL))
async def show_pool(request: Request, pool: str) -> JsonResponse:
    """One pool with its slots, and who holds them."""
    found = await caller_of(request).asend(queries.pools(pool))
    if not found:
        raise NotFound(f"there is no pool {pool!r}")
    return JsonResponse(found[0])
