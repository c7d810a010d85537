"""Pools and their slots."""

from starlette.requests import Request

from tenure.errors import NotFound
from tenure.store.calls import control_calls, queries
from tenure.store.results import Pool
from tenure.web import examples
from tenure.web.answers import Answer, place
from tenure.web.api.queues import PAUSES, pausing
from tenure.web.asking import body
from tenure.web.entrance import caller_of
from tenure.web.models import PoolBody, SlotsBody, Why
from tenure.web.openapi import router, says

routes = router("pools", "/api/pools")


@routes.get("", **says(tuple[Pool, ...], example=[examples.POOL]))
async def list_pools(request: Request) -> Answer:
    """Pools with their slots, and who holds them."""
    return Answer(await caller_of(request).asend(queries.pools()))


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
async def create_pool(request: Request) -> Answer:
    """Make a pool of named slots."""
    asked = await body(request, PoolBody)
    made = await caller_of(request).asend(control_calls.create_pool(asked.name, asked.slots))
    return Answer(made, 201, {"location": place(request, f"/api/pools/{asked.name}")})


@routes.post("/{pool:path}/pause", **PAUSES)
async def pause_pool(request: Request, pool: str) -> Answer:
    """Start nothing that needs a slot of this pool until it is resumed."""
    return await pausing(request, "pause", "pool", pool)


@routes.post("/{pool:path}/resume", **PAUSES)
async def resume_pool(request: Request, pool: str) -> Answer:
    """Let a paused pool go on."""
    return await pausing(request, "unpause", "pool", pool)


@routes.post(
    "/{pool:path}/slots/{slot:path}/release",
    **says(Pool, takes=Why, wrong=(409,), example=examples.POOL),
)
async def release_slot(request: Request, pool: str, slot: str) -> Answer:
    """Take a slot from a job that holds it and does not run."""
    asked = await body(request, Why)
    return Answer(
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
async def change_slots(request: Request, pool: str) -> Answer:
    """Add slots to a pool, and take away free ones."""
    asked = await body(request, SlotsBody)
    return Answer(
        await caller_of(request).asend(
            control_calls.change_slots(pool, add=asked.add, remove=asked.remove)
        )
    )


@routes.get("/{pool:path}", **says(Pool, example=examples.POOL))
async def show_pool(request: Request, pool: str) -> Answer:
    """One pool with its slots, and who holds them."""
    found = await caller_of(request).asend(queries.pools(pool))
    if not found:
        raise NotFound(f"there is no pool {pool!r}")
    return Answer(found[0])
