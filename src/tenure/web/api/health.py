"""Whether the server lives, and whether it can do anything. Open to all; says only yes or no."""

from starlette.requests import Request

from tenure.errors import StoreUnavailable
from tenure.web.context import state_of
from tenure.web.models import Health
from tenure.web.openapi import router, says
from tenure.web.responses import JsonResponse

routes = router("health")


@routes.get("/healthz", **says(Health, example={"status": "ok"}))
async def healthz() -> JsonResponse:
    """The server answers."""
    return JsonResponse(Health())


@routes.get("/readyz", **says(Health, example={"status": "ok"}))
async def readyz(request: Request) -> JsonResponse:
    """The database answers too, and is what this version needs."""
    if not await state_of(request).readiness.is_ready():
        raise StoreUnavailable("the database does not answer, or is not what this version needs")
    return JsonResponse(Health())
