"""Tenants, managed by admins of the default tenant."""

import asyncio
import dataclasses
from typing import Any

from starlette.requests import Request

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.tenant import Tenant
from tenure.errors import NotAllowed, NotFound
from tenure.store.calls import control_calls, queries
from tenure.store.results import TenantSeen
from tenure.web.models import Dropped, Paused, ReasonBody, TenantBody
from tenure.web.responses import JsonResponse, location
from tenure.web.routes import Routes

routes = Routes("tenants", "/api/tenants")


@routes.get("")
async def list_tenants(caller: AuthorizedClient) -> tuple[TenantSeen, ...]:
    """List all tenants."""
    return await caller.asend(queries.tenants())


@routes.post("", status=201, also={200: TenantSeen})
async def create_tenant(
    request: Request, caller: AuthorizedClient, body: TenantBody
) -> JsonResponse[TenantSeen]:
    """Create a tenant with a schema of its own. Other tenants cannot see its jobs."""
    tenant = Tenant(body.name)
    created = await asyncio.to_thread(caller.create_tenant, tenant)
    tenants = {each.name: each for each in await caller.asend(queries.tenants())}
    where = location(request, "/api/tenants")
    return JsonResponse(tenants[tenant.name], 201 if created else 200, where)


@routes.delete("/{name}", errors=(409,))
async def drop_tenant(caller: AuthorizedClient, name: str, force: bool = False) -> Dropped:
    """Delete a tenant with all its jobs; with `force` even while workers hold some."""
    tenant = Tenant(name)
    await asyncio.to_thread(lambda: caller.drop_tenant(tenant, force=force))
    return Dropped(name)


@routes.post("/{name}/pause", returns=Paused)
async def pause_tenant(caller: AuthorizedClient, name: str, body: ReasonBody) -> dict[str, Any]:
    """Start no job of this tenant until it is resumed. Running jobs continue."""
    there = await in_tenant(caller, Tenant(name), "pause")
    return await there.asend(control_calls.pause_dispatch("tenant", reason=body.reason))


@routes.post("/{name}/resume", returns=Paused)
async def resume_tenant(caller: AuthorizedClient, name: str, body: ReasonBody) -> dict[str, Any]:
    """Resume a paused tenant."""
    there = await in_tenant(caller, Tenant(name), "resume")
    return await there.asend(control_calls.resume_dispatch("tenant", reason=body.reason))


async def in_tenant(caller: AuthorizedClient, tenant: Tenant, verb: str) -> AuthorizedClient:
    """Return a client for the same caller in another tenant."""
    who = caller.principal
    if who.tenant == tenant:
        return caller
    if not who.controls_tenants:
        why = f"{who.name} may not {verb} tenant {tenant.name}; an admin of the default tenant may"
        await caller.asend(control_calls.refuse(verb, why))
        raise NotAllowed(why)
    if tenant.name not in [each.name for each in await caller.asend(queries.tenants())]:
        raise NotFound(f"there is no tenant {tenant.name!r}")
    return AuthorizedClient(caller.client, dataclasses.replace(who, tenant=tenant))
