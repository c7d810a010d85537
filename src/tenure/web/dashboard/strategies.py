"""Strategies: named ways to stop."""

from starlette.requests import Request
from starlette.responses import Response

from tenure.domain.job import JSON
from tenure.domain.lifecycle import Rung
from tenure.errors import InputRefused
from tenure.store.calls import control_calls, queries
from tenure.web.authentication import caller_of
from tenure.web.dashboard.forms import Form, form_of
from tenure.web.dashboard.rendering import redirect, render
from tenure.web.stops import read_duration

LENGTHS = ("grace", "ask_for")
SWITCHES = {
    "force": "By force, at once",
    "cascade": "Also what comes after it",
    "preserve": "Keep artifacts",
    "rollback": "Undo what its tasks have completed",
}
_SAID = {"yes": True, "no": False}


async def list_strategies(request: Request) -> Response:
    found = await caller_of(request).asend(queries.strategies())
    rungs = [rung for rung in Rung if rung < Rung.EXPIRED]
    return render(request, "strategies.html", strategies=found, switches=SWITCHES, rungs=rungs)


async def set_strategy(request: Request) -> Response:
    form = form_of(request)
    name = form.required("name", "a strategy has a name")
    await caller_of(request).asend(control_calls.set_strategy(name, _options(form)))
    return redirect(request, "/strategies")


async def drop_strategy(request: Request) -> Response:
    name = form_of(request).required("name", "say which strategy")
    await caller_of(request).asend(control_calls.drop_strategy(name))
    return redirect(request, "/strategies")


def _options(form: Form) -> dict[str, JSON]:
    """What is left as it is by default is not said."""
    options: dict[str, JSON] = {}
    for name in LENGTHS:
        if (seconds := read_duration(name, form.get(name))) is not None:
            options[name] = seconds.total_seconds()
    for name in SWITCHES:
        if (said := form.get(name)) is not None:
            if said not in _SAID:
                raise InputRefused(f"{name}: it is yes or no, not {said!r}")
            options[name] = _SAID[said]
    if (rung := form.get("last_rung")) is not None:
        options["last_rung"] = rung
    return options
