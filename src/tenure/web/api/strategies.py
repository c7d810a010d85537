"""Strategies: named sets of stop options."""

from datetime import timedelta
from typing import Any

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.stop_options import read_stop_options
from tenure.store.calls import control_calls, queries
from tenure.store.results import Strategy
from tenure.web.models import Dropped, StopFields
from tenure.web.routes import Routes

routes = Routes("strategies", "/api/strategies")


@routes.get("")
async def list_strategies(caller: AuthorizedClient) -> tuple[Strategy, ...]:
    """List strategies by name, with their stop options."""
    return await caller.asend(queries.strategies())


@routes.put("/{name:path}")
async def set_strategy(caller: AuthorizedClient, name: str, body: StopFields) -> Strategy:
    """Create or replace a strategy."""
    read = read_stop_options({option: getattr(body, option) for option in body.__struct_fields__})
    options = {
        option: value.total_seconds() if isinstance(value, timedelta) else value
        for option, value in read.items()
    }
    return await caller.asend(control_calls.set_strategy(name, options))


@routes.delete("/{name:path}", returns=Dropped)
async def drop_strategy(caller: AuthorizedClient, name: str) -> dict[str, Any]:
    """Delete a strategy. Stops that used it do not change."""
    return await caller.asend(control_calls.drop_strategy(name))
