"""Pools and their slots."""

from typing import Any

from starlette.requests import Request

from tenure.control.authorized_client import AuthorizedClient
from tenure.errors import NotFound
from tenure.store.calls import control_calls, queries
from tenure.store.results import Pool
from tenure.web.models import Paused, PoolBody, ReasonBody, SlotsBody
from tenure.web.responses import JsonResponse, location
from tenure.web.routes import Routes

routes = Routes("pools", "/api/pools")


@routes.get("")
async def list_pools(caller: AuthorizedClient) -> tuple[Pool, ...]:
    """List pools with their slots and the jobs that hold them."""
    return await caller.asend(queries.pools())


@routes.post("", status=201, errors=(409,))
async def create_pool(
    request: Request, caller: AuthorizedClient, body: PoolBody
) -> JsonResponse[Pool]:
    """Create a pool of named slots."""
    pool = await caller.asend(control_calls.create_pool(body.name, body.slots))
    return JsonResponse(pool, 201, location(request, f"/api/pools/{body.name}"))


@routes.post("/{pool:path}/pause", returns=Paused)
async def pause_pool(caller: AuthorizedClient, pool: str, body: ReasonBody) -> dict[str, Any]:
    """Start no job that needs a slot of this pool until it is resumed."""
    return await caller.asend(control_calls.pause_dispatch("pool", pool, reason=body.reason))


@routes.post("/{pool:path}/resume", returns=Paused)
async def resume_pool(caller: AuthorizedClient, pool: str, body: ReasonBody) -> dict[str, Any]:
    """Resume a paused pool."""
    return await caller.asend(control_calls.resume_dispatch("pool", pool, reason=body.reason))


@routes.post("/{pool:path}/slots/{slot:path}/release", errors=(409,))
async def release_slot(caller: AuthorizedClient, pool: str, slot: str, body: ReasonBody) -> Pool:
    """Release a slot held by a job that is not running."""
    return await caller.asend(control_calls.release_slot(pool, slot, reason=body.reason))


@routes.post("/{pool:path}/slots", errors=(409,))
async def change_slots(caller: AuthorizedClient, pool: str, body: SlotsBody) -> Pool:
    """Add slots to a pool, or remove free ones."""
    return await caller.asend(control_calls.change_slots(pool, add=body.add, remove=body.remove))


@routes.get("/{pool:path}")
async def show_pool(caller: AuthorizedClient, pool: str) -> Pool:
    """Show a pool with its slots and the jobs that hold them."""
    found = await caller.asend(queries.pools(pool))
    if not found:
        raise NotFound(f"there is no pool {pool!r}")
    return found[0]
