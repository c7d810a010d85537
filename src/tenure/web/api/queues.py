"""Queues and targets, and everything that is paused."""

from typing import Annotated, Any

from fastapi import Query
from msgspec import structs

from tenure.control.authorized_client import AuthorizedClient
from tenure.store.calls import control_calls, queries
from tenure.store.limit_results import DispatchPause
from tenure.store.results import Target
from tenure.web.context import Limit
from tenure.web.models import Cleared, Paused, QueueInfo, ReasonBody
from tenure.web.routes import Routes

routes = Routes("queues and targets", "/api")


@routes.get("/queues")
async def list_queues(caller: AuthorizedClient) -> list[QueueInfo]:
    """List queues by name, with the number of their jobs by status."""
    queues = await caller.asend(queries.queues())
    return [QueueInfo(name=name, **structs.asdict(queues[name])) for name in sorted(queues)]


@routes.post("/queues/{name:path}/pause", returns=Paused)
async def pause_queue(caller: AuthorizedClient, name: str, body: ReasonBody) -> dict[str, Any]:
    """Start no job of this queue until it is resumed. Running jobs continue."""
    return await caller.asend(control_calls.pause_dispatch("queue", name, reason=body.reason))


@routes.post("/queues/{name:path}/resume", returns=Paused)
async def resume_queue(caller: AuthorizedClient, name: str, body: ReasonBody) -> dict[str, Any]:
    """Resume a paused queue."""
    return await caller.asend(control_calls.resume_dispatch("queue", name, reason=body.reason))


@routes.get("/targets")
async def list_targets(
    caller: AuthorizedClient,
    target: str | None = None,
    after: Annotated[str | None, Query(description="Only names after this: the next page.")] = None,
    limit: Limit = 50,
) -> tuple[Target, ...]:
    """List targets in use or paused, by name, with the jobs that hold, block and await each."""
    return await caller.asend(queries.targets(target, limit, after=after))


@routes.post("/targets/{name:path}/pause", returns=Paused)
async def pause_target(caller: AuthorizedClient, name: str, body: ReasonBody) -> dict[str, Any]:
    """Start no job of this target until it is resumed. Running jobs continue."""
    return await caller.asend(control_calls.pause_dispatch("target", name, reason=body.reason))


@routes.post("/targets/{name:path}/resume", returns=Paused)
async def resume_target(caller: AuthorizedClient, name: str, body: ReasonBody) -> dict[str, Any]:
    """Resume a paused target."""
    return await caller.asend(control_calls.resume_dispatch("target", name, reason=body.reason))


@routes.post("/targets/{name:path}/clear", returns=Cleared, errors=(409,))
async def clear_target(caller: AuthorizedClient, name: str, body: ReasonBody) -> dict[str, Any]:
    """Cancel every failed job of this target, so that they no longer block it."""
    return await caller.asend(control_calls.clear(target=name, reason=body.reason))


@routes.get("/pauses")
async def list_pauses(caller: AuthorizedClient) -> tuple[DispatchPause, ...]:
    """List everything that is paused, with who paused it, when and why.

    This covers queues, targets, pools, schedules and the tenant.
    """
    return await caller.asend(queries.pauses())
