"""Stop records."""

from typing import Annotated

from fastapi import Query
from starlette.requests import Request

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.cancellation import CancellationRecord
from tenure.store.calls import control_calls, queries
from tenure.web.context import Limit
from tenure.web.models import RollbackBody, RollbackJob
from tenure.web.responses import JsonResponse, location
from tenure.web.routes import Routes

routes = Routes("cancellations", "/api/cancellations")

Offset = Annotated[int, Query(ge=0, le=(1 << 31) - 1, description="Number of records to skip.")]


@routes.get("")
async def list_cancellations(
    caller: AuthorizedClient, limit: Limit = 10, offset: Offset = 0
) -> tuple[CancellationRecord, ...]:
    """List stop records, newest first."""
    return await caller.asend(queries.cancellations(limit, offset))


@routes.get("/{cancellation_id}")
async def show_cancellation(caller: AuthorizedClient, cancellation_id: str) -> CancellationRecord:
    """Show a stop record: its steps, its jobs and its result."""
    return await caller.asend(queries.cancellation(cancellation_id))


@routes.post("/{cancellation_id}/rollback", status=202, errors=(409,))
async def roll_back(
    request: Request, caller: AuthorizedClient, cancellation_id: str, body: RollbackBody
) -> JsonResponse[RollbackJob]:
    """Undo what children of a cancelled job had completed: all of them, or those in `tasks`."""
    made = await caller.asend(
        control_calls.rollback(cancellation_id, body.tasks, reason=body.reason)
    )
    rollback = RollbackJob(made["job"])
    return JsonResponse(rollback, 202, location(request, f"/api/jobs/{rollback.job}"))
