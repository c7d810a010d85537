"""The REST API, one file for each noun."""

from tenure.web.api import (
    bulk,
    cancellations,
    catalogue,
    events,
    health,
    jobs,
    metrics,
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

ROUTES = tuple(
    module.routes
    for module in (
        jobs,
        stops,
        output,
        events,
        cancellations,
        catalogue,
        queues,
        pools,
        workers,
        strategies,
        policies,
        bulk,
        tenants,
        tokens,
        overview,
        metrics,
        health,
    )
)
