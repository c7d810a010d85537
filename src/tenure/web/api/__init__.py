"""The REST API, one module for each noun."""

from tenure.web.api import (
    bulk,
    cancellations,
    catalogue,
    events,
    jobs,
    limits,
    monitoring,
    output,
    overview,
    policies,
    pools,
    queues,
    schedules,
    steps,
    stops,
    strategies,
    tenants,
    tokens,
    webhooks,
    workers,
)

# In the order of the API description.
_MODULES = (
    *(
        jobs,
        stops,
        steps,
        output,
        events,
        cancellations,
        catalogue,
        queues,
        schedules,
        pools,
        limits,
        workers,
        strategies,
    ),
    *(policies, bulk, tenants, tokens, webhooks, overview, monitoring),
)
ROUTERS = tuple(module.routes.router for module in _MODULES)
