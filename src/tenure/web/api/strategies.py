"""Strategies: named sets of stop options."""

from typing import Any

from tenure.control.authorized_client import AuthorizedClient
from tenure.store.calls import control_calls, queries
from tenure.store.results import Strategy
from tenure.web.models import Dropped, StrategyBody
from tenure.web.routes import Routes
from tenure.web.stops import read_duration

routes = Routes("strategies", "/api/strategies")


@routes.get("")
async def list_strategies(caller: AuthorizedClient) -> tuple[Strategy, ...]:
    """List strategies by name, with their stop options."""
    return await caller.asend(queries.strategies())


@routes.put("/{name:path}")
async def set_strategy(caller: AuthorizedClient, name: str, body: StrategyBody) -> Strategy:
    """Create or replace a strategy."""
    options = {}
    for option in body.__struct_fields__:
        value = getattr(body, option)
        if option in ("grace", "ask_for") and (read := read_duration(option, value)) is not None:
            value = read.total_seconds()
        if value is not None:
            options[option] = value
    return await caller.asend(control_calls.set_strategy(name, options))


@routes.delete("/{name:path}", returns=Dropped)
async def drop_strategy(caller: AuthorizedClient, name: str) -> dict[str, Any]:
    """Delete a strategy. Stops that used it do not change."""
    return await caller.asend(control_calls.drop_strategy(name))
