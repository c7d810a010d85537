"""Strategies: named ways to stop."""

from starlette.requests import Request

from tenure.store.calls import control_calls, queries
from tenure.store.results import Strategy
from tenure.web import examples
from tenure.web.authentication import caller_of
from tenure.web.context import read_body
from tenure.web.models import Dropped, StrategyBody
from tenure.web.openapi import router, says
from tenure.web.responses import JsonResponse
from tenure.web.stops import length

routes = router("strategies", "/api/strategies")


@routes.get("", **says(tuple[Strategy, ...], example=[examples.STRATEGY]))
async def list_strategies(request: Request) -> JsonResponse:
    """Strategies by name, with the options of a stop that each stands for."""
    return JsonResponse(await caller_of(request).asend(queries.strategies()))


@routes.put(
    "/{name:path}",
    **says(
        Strategy,
        takes=StrategyBody,
        sent={"grace": "10s", "cascade": False},
        example=examples.STRATEGY,
    ),
)
async def set_strategy(request: Request, name: str) -> JsonResponse:
    """Make or change a strategy."""
    asked = await read_body(request, StrategyBody)
    options = {}
    for option in asked.__struct_fields__:
        value = getattr(asked, option)
        if option in ("grace", "ask_for") and (read := length(option, value)) is not None:
            value = read.total_seconds()
        if value is not None:
            options[option] = value
    return JsonResponse(await caller_of(request).asend(control_calls.set_strategy(name, options)))


@routes.delete("/{name:path}", **says(Dropped, wrong=(415,), example={"dropped": "gentle"}))
async def drop_strategy(request: Request, name: str) -> JsonResponse:
    """Delete a strategy; stops that were made by it stay as they are."""
    return JsonResponse(await caller_of(request).asend(control_calls.drop_strategy(name)))
