"""Queues and targets."""

from typing import Annotated, Any, Literal

from fastapi import Query
from msgspec import structs
from starlette.requests import Request

from tenure.store.calls import control_calls, queries
from tenure.store.results import Target
from tenure.web import examples
from tenure.web.authentication import caller_of
from tenure.web.context import Limit, read_body
from tenure.web.models import Cleared, Paused, QueueInfo, ReasonBody
from tenure.web.openapi import router, says
from tenure.web.responses import JsonResponse

routes = router("queues and targets", "/api")

PAUSES: dict[str, Any] = says(
    Paused,
    takes=ReasonBody,
    sent={"reason": "deployment"},
    example={"paused": True, "resumed": None},
)


@routes.get("/queues", **says(tuple[QueueInfo, ...], example=[examples.QUEUE]))
async def list_queues(request: Request) -> JsonResponse:
    """Queues by name, and the jobs in them."""
    queues = await caller_of(request).asend(queries.queues())
    return JsonResponse(
        [QueueInfo(name=name, **structs.asdict(queues[name])) for name in sorted(queues)]
    )


@routes.post("/queues/{name:path}/pause", **PAUSES)
async def pause_queue(request: Request, name: str) -> JsonResponse:
    """Start nothing of this queue until it is resumed; what runs goes on."""
    return await pausing(request, "pause", "queue", name)


@routes.post("/queues/{name:path}/resume", **PAUSES)
async def resume_queue(request: Request, name: str) -> JsonResponse:
    """Let a paused queue go on."""
    return await pausing(request, "unpause", "queue", name)


@routes.get("/targets", **says(tuple[Target, ...], example=[examples.TARGET]))
async def list_targets(
    request: Request,
    target: str | None = None,
    after: Annotated[str | None, Query(description="Only names after this: the next page.")] = None,
    limit: Limit = 50,
) -> JsonResponse:
    """Targets that are in use or paused, by name: who holds, blocks and waits for each."""
    return JsonResponse(await caller_of(request).asend(queries.targets(target, limit, after=after)))


@routes.post("/targets/{name:path}/pause", **PAUSES)
async def pause_target(request: Request, name: str) -> JsonResponse:
    """Start nothing of this target until it is resumed; what runs goes on."""
    return await pausing(request, "pause", "target", name)


@routes.post("/targets/{name:path}/resume", **PAUSES)
async def resume_target(request: Request, name: str) -> JsonResponse:
    """Let a paused target go on."""
    return await pausing(request, "unpause", "target", name)


@routes.post(
    "/targets/{name:path}/clear",
    **says(Cleared, takes=ReasonBody, wrong=(409,), example={"cleared": [42]}),
)
async def clear_target(request: Request, name: str) -> JsonResponse:
    """Give up on every failed job of this target, so that it blocks nothing."""
    asked = await read_body(request, ReasonBody)
    return JsonResponse(
        await caller_of(request).asend(control_calls.clear(target=name, reason=asked.reason))
    )


async def pausing(
    request: Request,
    verb: Literal["pause", "unpause"],
    subject: Literal["queue", "target", "pool"],
    name: str,
) -> JsonResponse:
    asked = await read_body(request, ReasonBody)
    make = control_calls.pause if verb == "pause" else control_calls.unpause
    return JsonResponse(await caller_of(request).asend(make(subject, name, reason=asked.reason)))
