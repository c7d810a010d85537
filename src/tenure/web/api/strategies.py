"""Strategies: named sets of stop options."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from msgspec import structs

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.stop_options import read_stop_options
from tenure.store.call import Call
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
    return await caller.asend(strategy(name, structs.asdict(body)))


@routes.delete("/{name:path}", returns=Dropped)
async def drop_strategy(caller: AuthorizedClient, name: str) -> dict[str, Any]:
    """Delete a strategy. Stops that used it do not change."""
    return await caller.asend(control_calls.drop_strategy(name))


def strategy(name: str, options: Mapping[str, Any]) -> Call[Strategy]:
    """Return the call that creates a strategy, or refuse its options."""
    seconds = {
        option: value.total_seconds() if isinstance(value, timedelta) else value
        for option, value in read_stop_options(options).items()
    }
    return control_calls.set_strategy(name, seconds)
