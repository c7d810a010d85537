"""Whether the server lives, and whether it can do anything. Open to all; says only yes or no."""

from starlette.requests import Request

from tenure.errors import StoreUnavailable
from tenure.web.answers import Answer
from tenure.web.asking import shared
from tenure.web.models import Health
from tenure.web.openapi import router, says

routes = router("health")


@routes.get("/healthz", **says(Health, example={"status": "ok"}))
async def healthz() -> Answer:
    """The server answers."""
    return Answer(Health())


@routes.get("/readyz", **says(Health, example={"status": "ok"}))
async def readyz(request: Request) -> Answer:
    """The database answers too, and is what this version needs."""
    if not await shared(request).readiness.is_ready():
        raise StoreUnavailable("the database does not answer, or is not what this version needs")
    return Answer(Health())
