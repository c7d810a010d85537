"""Tenants: in the hands of the default tenant's admins."""

import asyncio
import dataclasses
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import InputRefused, NotFound
from tenure.store.calls import control_calls, queries
from tenure.web.authentication import caller_of
from tenure.web.dashboard.forms import form_of
from tenure.web.dashboard.places import Handler
from tenure.web.dashboard.rendering import redirect, render


async def list_tenants(request: Request) -> Response:
    tenants = await caller_of(request).asend(queries.tenants())
    return render(request, "tenants.html", tenants=tenants)


async def create_tenant(request: Request) -> Response:
    caller = caller_of(request)
    tenant = Tenant(form_of(request).required("name", "a tenant has a name"))
    await asyncio.to_thread(caller.create_tenant, tenant)
    return redirect(request, "/tenants")


async def drop_tenant(request: Request) -> Response:
    """Delete it with all its jobs, if its name was typed as well."""
    form = form_of(request)
    tenant = Tenant(form.required("name", "say which tenant"))
    if tenant == DEFAULT:
        raise InputRefused("the default tenant cannot be dropped: all others stand on it")
    if form.get("typed", "").strip() != tenant.name:
        raise InputRefused(f"nothing was dropped: its name, {tenant.name}, has to be typed as well")
    force = "force" in form
    await asyncio.to_thread(lambda: caller_of(request).drop_tenant(tenant, force=force))
    return redirect(request, "/tenants")


def pausing(verb: Literal["pause", "unpause"]) -> Handler:
    async def paused(request: Request) -> Response:
        caller, form = caller_of(request), form_of(request)
        name = form.required("name", "say which tenant")
        # Whoever may not see all tenants does not come further.
        if name not in [one.name for one in await caller.asend(queries.tenants())]:
            raise NotFound(f"there is no tenant {name!r}")
        there = dataclasses.replace(caller.principal, tenant=Tenant(name))
        make = control_calls.pause if verb == "pause" else control_calls.unpause
        await AuthorizedClient(caller.client, there).asend(make("tenant", reason=form.reason))
        return redirect(request, "/tenants")

    return paused
