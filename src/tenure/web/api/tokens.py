"""Tokens: made, listed and revoked by admins."""

from typing import Annotated

from fastapi import Path
from starlette.requests import Request

from tenure.control.tokens import amake_token
from tenure.domain.tenant import Tenant
from tenure.store.calls import control_calls, queries
from tenure.store.results import Token
from tenure.web import examples
from tenure.web.authentication import caller_of
from tenure.web.context import read_body
from tenure.web.limits import MOST_ID
from tenure.web.models import NewToken, ReasonBody, TokenBody
from tenure.web.openapi import router, says
from tenure.web.responses import JsonResponse
from tenure.web.stops import length

routes = router("tokens", "/api/tokens")


@routes.get("", **says(tuple[Token, ...], example=[examples.TOKEN]))
async def list_tokens(request: Request, tenant: str | None = None) -> JsonResponse:
    """Tokens of this tenant; an admin of the default tenant sees those of all, or of one."""
    of = None if tenant is None else Tenant(tenant)
    return JsonResponse(await caller_of(request).asend(queries.tokens(of)))


@routes.post(
    "",
    **says(
        NewToken,
        status=201,
        takes=TokenBody,
        sent={"name": "ada", "role": "operator", "lifetime": "30d"},
        example={"secret": "tenure_...", "token": examples.TOKEN},
    ),
)
async def create_token(request: Request) -> JsonResponse:
    """Make a token. Its secret is in this answer and nowhere else."""
    asked = await read_body(request, TokenBody)
    secret, token = await amake_token(
        caller_of(request),
        asked.name,
        asked.role,
        tenant=asked.tenant,
        lifetime=length("lifetime", asked.lifetime),
    )
    return JsonResponse(NewToken(secret, token), 201)


@routes.post("/{token_id}/revoke", **says(Token, takes=ReasonBody, example=examples.TOKEN))
async def revoke_token(
    request: Request, token_id: Annotated[int, Path(ge=0, le=MOST_ID)]
) -> JsonResponse:
    """Revoke a token; within a second nobody is recognized by it."""
    asked = await read_body(request, ReasonBody)
    return JsonResponse(
        await caller_of(request).asend(control_calls.revoke_token(token_id, reason=asked.reason))
    )
