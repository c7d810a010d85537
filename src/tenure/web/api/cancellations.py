"""The records of stops."""

from typing import Annotated

from fastapi import Query
from starlette.requests import Request

from tenure.domain.cancellation import CancellationRecord
from tenure.store.calls import control_calls, queries
from tenure.web import examples
from tenure.web.authentication import caller_of
from tenure.web.context import Limit, read_body
from tenure.web.models import RollbackBody, RollbackJob
from tenure.web.openapi import router, says
from tenure.web.responses import JsonResponse, location

routes = router("cancellations", "/api/cancellations")

Offset = Annotated[int, Query(ge=0, le=(1 << 31) - 1, description="How many to pass over.")]


@routes.get("", **says(tuple[CancellationRecord, ...], example=[examples.RECORD]))
async def list_cancellations(
    request: Request, limit: Limit = 10, offset: Offset = 0
) -> JsonResponse:
    """Cancellation records, newest first."""
    return JsonResponse(await caller_of(request).asend(queries.cancellations(limit, offset)))


@routes.get("/{cancellation_id}", **says(CancellationRecord, example=examples.RECORD))
async def show_cancellation(request: Request, cancellation_id: str) -> JsonResponse:
    """All that is known of one stop: its steps, its members, what it came to."""
    return JsonResponse(await caller_of(request).asend(queries.cancellation(cancellation_id)))


@routes.post(
    "/{cancellation_id}/rollback",
    **says(
        RollbackJob,
        status=202,
        takes=RollbackBody,
        sent={"tasks": [43, 44]},
        wrong=(409,),
        example={"job": 50},
    ),
)
async def roll_back(request: Request, cancellation_id: str) -> JsonResponse:
    """Undo what tasks of a cancelled job had completed: all of them, or those that are named."""
    asked = await read_body(request, RollbackBody)
    made = await caller_of(request).asend(
        control_calls.rollback(cancellation_id, asked.tasks, reason=asked.reason)
    )
    return JsonResponse(made, 202, {"location": location(request, f"/api/jobs/{made['job']}")})
