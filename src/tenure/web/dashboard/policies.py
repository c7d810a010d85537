"""Policies: rules by which jobs are stopped."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tenure.domain.policy import GROUPS
from tenure.errors import InputRefused, NotFound
from tenure.store.calls import policy_calls, queries
from tenure.web.authentication import caller_of
from tenure.web.dashboard.forms import Form, form_of
from tenure.web.dashboard.jobs import read_timestamp
from tenure.web.dashboard.rendering import redirect, render

FILTERS = ("queue", "task", "target", "owner", "tag")
LENGTHS = ("waiting", "running", "age")
FLAGS = ("superseded", "parent_failed")


async def list_policies(request: Request) -> Response:
    caller = caller_of(request)
    return render(
        request,
        "policies.html",
        policies=await caller.asend(queries.policies()),
        strategies=await caller.asend(queries.strategies()),
        filters=FILTERS,
        lengths=LENGTHS,
        groups=GROUPS,
        every=5,
    )


async def set_policy(request: Request) -> Response:
    form = form_of(request)
    spec: dict[str, Any] = {
        "filter": {name: form[name].strip() for name in FILTERS if name in form},
        "when": _when(form),
        "intent": form.get("intent"),
        "strategy": form.get("strategy"),
        "reason": form.reason,
    }
    name = form.required("name", "a policy has a name")
    await caller_of(request).asend(policy_calls.set_policy(name, spec))
    return redirect(request, "/policies")


async def switch_policy(request: Request) -> Response:
    """Stop nothing by it until it is switched on again, or go on."""
    caller, form = caller_of(request), form_of(request)
    name = form.required("name", "say which policy")
    found = [one for one in await caller.asend(queries.policies()) if one.name == name]
    if not found:
        raise NotFound(f"there is no policy {name!r}")
    await caller.asend(policy_calls.set_policy(name, found[0].spec, enabled="on" in form))
    return redirect(request, "/policies")


async def drop_policy(request: Request) -> Response:
    name = form_of(request).required("name", "say which policy")
    await caller_of(request).asend(policy_calls.drop_policy(name))
    return redirect(request, "/policies")


def _when(form: Form) -> dict[str, Any]:
    conditions: dict[str, Any] = {name: form[name] for name in LENGTHS if name in form}
    conditions |= {name: True for name in FLAGS if name in form}
    if "at" in form:
        conditions["at"] = read_timestamp("at", form["at"])
    if "unit" in form:
        conditions["budget"] = {form["unit"].strip(): _number(form, "share")}
    if "above" in form:
        rate = {"above": _number(form, "above"), "by": form.get("by", GROUPS[0])}
        conditions["error_rate"] = {**rate, **({"of": _count(form)} if "of" in form else {})}
    return conditions


def _number(form: Form, name: str) -> float:
    try:
        return float(form.required(name, f"{name}: it takes a share such as 0.9"))
    except ValueError:
        raise InputRefused(f"{name}: it takes a share such as 0.9") from None


def _count(form: Form) -> int:
    text = form["of"]
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InputRefused("of: it takes a number of jobs")
    return int(text)
