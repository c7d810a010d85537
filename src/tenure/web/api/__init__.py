"""The REST API, one module for each noun."""

from tenure.web.api import (
    bulk,
    cancellations,
    catalogue,
    events,
    jobs,
    monitoring,
    output,
    overview,
    policies,
    pools,
    queues,
    stops,
    strategies,
    tenants,
    tokens,
    workers,
)

# In the order of the API description.
_MODULES = (
    *(jobs, stops, output, events, cancellations, catalogue, queues, pools, workers, strategies),
    *(policies, bulk, tenants, tokens, overview, monitoring),
)
ROUTERS = tuple(module.routes.router for module in _MODULES)
