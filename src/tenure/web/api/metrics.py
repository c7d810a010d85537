"""Metrics of the tenant that asks, for Prometheus."""

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from tenure.domain.tenant import DEFAULT
from tenure.observe.metrics import CONTENT_TYPE
from tenure.web.authentication import caller_of
from tenure.web.context import AppState, state_of
from tenure.web.openapi import router, says

routes = router("metrics")


@routes.get("/metrics", response_class=Response, **says(media="text/plain"))
async def metrics(request: Request) -> Response:
    """What belongs to all workers, counted in the database; each worker shows what it did."""
    caller, common = caller_of(request), state_of(request)
    page = await common.metrics.page(caller.principal.tenant.name, caller.asend)
    if caller.principal.tenant == DEFAULT:
        page += generate_latest(_Requests(common))
    return Response(page, media_type=CONTENT_TYPE, headers={"cache-control": "no-store"})


class _Requests(Collector):
    """What this server has counted itself."""

    def __init__(self, common: AppState) -> None:
        self._common = common

    def collect(self) -> list[Metric]:
        return [
            CounterMetricFamily(
                f"{self._common.client.settings.metrics_prefix or ''}requests_not_recognized_total",
                "Requests without a token, or with one that is not valid.",
                value=self._common.authenticator.refused,
            )
        ]
