"""Tokens, managed by admins."""

from typing import Annotated

from fastapi import Path

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.tokens import new_token
from tenure.domain.options import read_duration
from tenure.domain.tenant import Tenant
from tenure.store.calls import control_calls, queries
from tenure.store.results import Token
from tenure.web.limits import MAX_ID
from tenure.web.models import NewToken, ReasonBody, TokenBody
from tenure.web.routes import Routes

routes = Routes("tokens", "/api/tokens")


@routes.get("")
async def list_tokens(caller: AuthorizedClient, tenant: str | None = None) -> tuple[Token, ...]:
    """List tokens. An admin of the default tenant sees those of all tenants, or of `tenant`."""
    return await caller.asend(queries.tokens(None if tenant is None else Tenant(tenant)))


@routes.post("", status=201)
async def create_token(caller: AuthorizedClient, body: TokenBody) -> NewToken:
    """Create a token. Only this response contains its secret."""
    lifetime = read_duration("lifetime", body.lifetime)
    made = new_token(caller, body.name, body.role, body.tenant, lifetime)
    return NewToken(*await caller.aperform(made))


@routes.post("/{token_id}/revoke")
async def revoke_token(
    caller: AuthorizedClient,
    token_id: Annotated[int, Path(ge=0, le=MAX_ID)],
    body: ReasonBody,
) -> Token:
    """Revoke a token. It stops working within a second."""
    return await caller.asend(control_calls.revoke_token(token_id, reason=body.reason))
