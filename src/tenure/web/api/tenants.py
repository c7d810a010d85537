"""Tenants: in the hands of the default tenant's admins."""

import asyncio
import dataclasses
from typing import Literal

from starlette.requests import Request

from tenure.control.behalf import Behalf
from tenure.domain.tenant import Tenant
from tenure.errors import NotAllowed, NotFound
from tenure.store.calls import controlling, looking
from tenure.store.results import TenantSeen
from tenure.web import examples
from tenure.web.answers import Answer, place
from tenure.web.api.queues import PAUSES
from tenure.web.asking import body
from tenure.web.entrance import behalf_of
from tenure.web.models import Dropped, TenantBody, Why
from tenure.web.openapi import router, says

routes = router("tenants", "/api/tenants")


@routes.get("", **says(tuple[TenantSeen, ...], example=[examples.TENANT]))
async def list_tenants(request: Request) -> Answer:
    """Every tenant there is."""
    return Answer(await behalf_of(request).asend(looking.tenants()))


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
async def create_tenant(request: Request) -> Answer:
    """Make a tenant: a schema of its own, where nobody else sees its jobs."""
    behalf = behalf_of(request)
    tenant = Tenant((await body(request, TenantBody)).name)
    created = await asyncio.to_thread(behalf.create_tenant, tenant)
    [seen] = [one for one in await behalf.asend(looking.tenants()) if one.name == tenant.name]
    where = {"location": place(request, "/api/tenants")}
    return Answer(seen, 201 if created else 200, where)


@routes.delete("/{name}", **says(Dropped, wrong=(409, 415), example={"dropped": "acme"}))
async def drop_tenant(request: Request, name: str, force: bool = False) -> Answer:
    """Delete a tenant with all its jobs; with `force` also while workers hold some."""
    behalf, tenant = behalf_of(request), Tenant(name)
    await asyncio.to_thread(lambda: behalf.drop_tenant(tenant, force=force))
    return Answer(Dropped(name))


@routes.post("/{name}/pause", **PAUSES)
async def pause_tenant(request: Request, name: str) -> Answer:
    """Start nothing of this tenant until it is resumed; what runs goes on."""
    return await _pausing(request, "pause", name)


@routes.post("/{name}/resume", **PAUSES)
async def resume_tenant(request: Request, name: str) -> Answer:
    """Let a paused tenant go on."""
    return await _pausing(request, "unpause", name)


async def _pausing(request: Request, verb: Literal["pause", "unpause"], name: str) -> Answer:
    asked = await body(request, Why)
    behalf = await _within(behalf_of(request), Tenant(name), verb)
    make = controlling.pause if verb == "pause" else controlling.unpause
    return Answer(await behalf.asend(make("tenant", reason=asked.reason)))


async def _within(behalf: Behalf, tenant: Tenant, verb: str) -> Behalf:
    """The same one, in another tenant."""
    who = behalf.principal
    if who.tenant == tenant:
        return behalf
    if not who.controls_tenants:
        why = f"{who.name} may not {verb} tenant {tenant.name}; an admin of the default tenant may"
        await behalf.asend(controlling.refuse(verb, why))
        raise NotAllowed(why)
    await _refuse_unknown(behalf, tenant)
    return Behalf(behalf.client, dataclasses.replace(who, tenant=tenant))


async def _refuse_unknown(behalf: Behalf, tenant: Tenant) -> None:
    if tenant.name not in [one.name for one in await behalf.asend(looking.tenants())]:
        raise NotFound(f"there is no tenant {tenant.name!r}")
