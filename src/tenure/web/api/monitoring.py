"""Health, readiness and metrics."""

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.tenant import DEFAULT
from tenure.errors import StoreUnavailable
from tenure.observe.metrics import CONTENT_TYPE
from tenure.web.context import AppState, state_of
from tenure.web.models import Health
from tenure.web.routes import Routes

routes = Routes("monitoring")


@routes.get("/metrics", media="text/plain")
async def metrics(request: Request, caller: AuthorizedClient) -> Response:
    """Return metrics counted in the database, for Prometheus. Each worker exports its own."""
    state = state_of(request)
    text = await state.metrics.page(caller.principal.tenant.name, caller.asend)
    if caller.principal.tenant == DEFAULT:
        text += generate_latest(_RequestMetrics(state))
    return Response(text, media_type=CONTENT_TYPE, headers={"cache-control": "no-store"})


@routes.get("/healthz")
async def healthz() -> Health:
    """Report that the server answers. Needs no token."""
    return Health()


@routes.get("/readyz")
async def readyz(request: Request) -> Health:
    """Report whether the database answers and has the right schema. Needs no token."""
    if not await state_of(request).readiness.is_ready():
        raise StoreUnavailable("the database does not answer, or has the wrong schema version")
    return Health()


class _RequestMetrics(Collector):
    """Requests counted by this server."""

    def __init__(self, state: AppState) -> None:
        self._state = state

    def collect(self) -> list[Metric]:
        return [
            CounterMetricFamily(
                f"{self._state.client.settings.metrics_prefix or ''}requests_not_recognized_total",
                "Requests without a token, or with one that is not valid.",
                value=self._state.authenticator.refused,
            )
        ]
