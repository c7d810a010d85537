"""The REST API, one file for each noun."""

from tenure.web.api import (
    cancellations,
    events,
    health,
    jobs,
    kept,
    overview,
    pools,
    queues,
    stopping,
    strategies,
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
        queues,
        pools,
        workers,
        strategies,
        tokens,
        overview,
        health,
    )
)
