"""The REST API, one file for each noun."""

from tenure.web.api import (
    bulk,
    cancellations,
    catalogue,
    events,
    health,
    jobs,
    kept,
    metrics,
    overview,
    policies,
    pools,
    queues,
    stopping,
    strategies,
    tenants,
    tokens,
    workers,
)

ROUTES = tuple(
    module.routes
    for module in (
        jobs,
        stopping,
        kept,
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
