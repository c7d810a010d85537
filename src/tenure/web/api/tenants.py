"""Tenants: in the hands of the default tenant's admins."""

import asyncio
import dataclasses
from typing import Literal

from starlette.requests import Request

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.tenant import Tenant
from tenure.errors import NotAllowed, NotFound
from tenure.store.calls import control_calls, queries
from tenure.store.results import TenantSeen
from tenure.web import examples
from tenure.web.api.queues import PAUSES
from tenure.web.authentication import caller_of
from tenure.web.context import read_body
from tenure.web.models import Dropped, ReasonBody, TenantBody
from tenure.web.openapi import router, says
from tenure.web.responses import JsonResponse, location

routes = router("tenants", "/api/tenants")


@routes.get("", **says(tuple[TenantSeen, ...], example=[examples.TENANT]))
async def list_tenants(request: Request) -> JsonResponse:
    """Every tenant there is."""
    return JsonResponse(await caller_of(request).asend(queries.tenants()))


@routes.post(
    "",
    **says(
        TenantSeen,
        status=201,
        also={200: TenantSeen},
        takes=TenantBody,
        sent={"name": "acme"},
        example=examples.TENANT,
    ),
)
async def create_tenant(request: Request) -> JsonResponse:
    """Make a tenant: a schema of its own, where nobody else sees its jobs."""
    caller = caller_of(request)
    tenant = Tenant((await read_body(request, TenantBody)).name)
    created = await asyncio.to_thread(caller.create_tenant, tenant)
    [seen] = [one for one in await caller.asend(queries.tenants()) if one.name == tenant.name]
    where = {"location": location(request, "/api/tenants")}
    return JsonResponse(seen, 201 if created else 200, where)


@routes.delete("/{name}", **says(Dropped, wrong=(409, 415), example={"dropped": "acme"}))
async def drop_tenant(request: Request, name: str, force: bool = False) -> JsonResponse:
    """Delete a tenant with all its jobs; with `force` also while workers hold some."""
    caller, tenant = caller_of(request), Tenant(name)
    await asyncio.to_thread(lambda: caller.drop_tenant(tenant, force=force))
    return JsonResponse(Dropped(name))


@routes.post("/{name}/pause", **PAUSES)
async def pause_tenant(request: Request, name: str) -> JsonResponse:
    """Start nothing of this tenant until it is resumed; what runs goes on."""
    return await _pausing(request, "pause", name)


@routes.post("/{name}/resume", **PAUSES)
async def resume_tenant(request: Request, name: str) -> JsonResponse:
    """Let a paused tenant go on."""
    return await _pausing(request, "unpause", name)


async def _pausing(request: Request, verb: Literal["pause", "unpause"], name: str) -> JsonResponse:
    asked = await read_body(request, ReasonBody)
    caller = await _within(caller_of(request), Tenant(name), verb)
    make = control_calls.pause if verb == "pause" else control_calls.unpause
    return JsonResponse(await caller.asend(make("tenant", reason=asked.reason)))


async def _within(caller: AuthorizedClient, tenant: Tenant, verb: str) -> AuthorizedClient:
    """The same one, in another tenant."""
    who = caller.principal
    if who.tenant == tenant:
        return caller
    if not who.controls_tenants:
        why = f"{who.name} may not {verb} tenant {tenant.name}; an admin of the default tenant may"
        await caller.asend(control_calls.refuse(verb, why))
        raise NotAllowed(why)
    await _refuse_unknown(caller, tenant)
    return AuthorizedClient(caller.client, dataclasses.replace(who, tenant=tenant))


async def _refuse_unknown(caller: AuthorizedClient, tenant: Tenant) -> None:
    if tenant.name not in [one.name for one in await caller.asend(queries.tenants())]:
        raise NotFound(f"there is no tenant {tenant.name!r}")
