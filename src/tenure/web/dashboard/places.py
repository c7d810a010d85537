"""Queues, targets and pools: what they hold, and whether they are open."""

from collections.abc import Awaitable, Callable
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response

from tenure.store.calls import control_calls, queries
from tenure.web.authentication import caller_of
from tenure.web.dashboard.forms import form_of
from tenure.web.dashboard.rendering import redirect, render

Handler = Callable[[Request], Awaitable[Response]]
Subject = Literal["queue", "target", "pool"]

ON_A_PAGE = 50


def pausing(verb: Literal["pause", "unpause"], subject: Subject) -> Handler:
    """Close something, or open it again; what runs goes on."""

    async def paused(request: Request) -> Response:
        form = form_of(request)
        name = form.required("name", f"say which {subject}")
        make = control_calls.pause if verb == "pause" else control_calls.unpause
        await caller_of(request).asend(make(subject, name, reason=form.reason))
        return redirect(request, f"/{subject}s")

    return paused


async def list_targets(request: Request) -> Response:
    asked = request.query_params
    found = await caller_of(request).asend(
        queries.targets(asked.get("target") or None, ON_A_PAGE, after=asked.get("after") or None)
    )
    return render(
        request,
        "targets.html",
        targets=found,
        wanted=asked.get("target") or "",
        following=found[-1].name if len(found) == ON_A_PAGE else None,
        live="/live",
    )


async def clear_target(request: Request) -> Response:
    """Give up on every failed job of a target, so that it blocks nothing."""
    form = form_of(request)
    name = form.required("name", "say which target")
    await caller_of(request).asend(control_calls.clear(target=name, reason=form.reason))
    return redirect(request, "/targets")


async def list_pools(request: Request) -> Response:
    found = await caller_of(request).asend(queries.pools())
    return render(request, "pools.html", pools=found, live="/live", every=5)


async def create_pool(request: Request) -> Response:
    form = form_of(request)
    name = form.required("name", "a pool has a name")
    await caller_of(request).asend(control_calls.create_pool(name, _names(form.get("slots"))))
    return redirect(request, "/pools")


async def change_slots(request: Request) -> Response:
    form = form_of(request)
    name = form.required("name", "say which pool")
    await caller_of(request).asend(
        control_calls.change_slots(
            name, add=_names(form.get("add")), remove=_names(form.get("remove"))
        )
    )
    return redirect(request, "/pools")


async def release_slot(request: Request) -> Response:
    """Take a slot from a job that holds it and does not run."""
    form = form_of(request)
    pool, slot = form.required("name", "say which pool"), form.required("slot", "say which slot")
    await caller_of(request).asend(control_calls.release_slot(pool, slot, reason=form.reason))
    return redirect(request, "/pools")


def _names(text: str | None) -> list[str]:
    return [name for part in (text or "").split(",") if (name := part.strip())]
