"""Strategies: named ways to stop."""

from datetime import timedelta

from starlette.requests import Request

from tenure.domain.stop_options import read_stop_options
from tenure.store.calls import control_calls, queries
from tenure.store.results import Strategy
from tenure.web import examples
from tenure.web.answers import Answer
from tenure.web.asking import body
from tenure.web.entrance import caller_of
from tenure.web.models import Dropped, StopFields
from tenure.web.openapi import router, says

routes = router("strategies", "/api/strategies")


@routes.get("", **says(tuple[Strategy, ...], example=[examples.STRATEGY]))
async def list_strategies(request: Request) -> Answer:
    """Strategies by name, with the options of a stop that each stands for."""
    return Answer(await caller_of(request).asend(queries.strategies()))


@routes.put(
    "/{name:path}",
    **says(
        Strategy,
        takes=StopFields,
        sent={"grace": "10s", "cascade": False},
        example=examples.STRATEGY,
    ),
)
async def set_strategy(request: Request, name: str) -> Answer:
    """Make or change a strategy."""
    asked = await body(request, StopFields)
    read = read_stop_options({option: getattr(asked, option) for option in asked.__struct_fields__})
    options = {
        option: value.total_seconds() if isinstance(value, timedelta) else value
        for option, value in read.items()
    }
    return Answer(await caller_of(request).asend(control_calls.set_strategy(name, options)))


@routes.delete("/{name:path}", **says(Dropped, wrong=(415,), example={"dropped": "gentle"}))
async def drop_strategy(request: Request, name: str) -> Answer:
    """Delete a strategy; stops that were made by it stay as they are."""
    return Answer(await caller_of(request).asend(control_calls.drop_strategy(name)))
