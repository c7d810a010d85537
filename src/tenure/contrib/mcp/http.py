"""The server over streamable HTTP: every request carries a token of Tenure."""

from typing import Any

from mcp.server import Server
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import ServerRequestContext
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.client import Client
from tenure.control.tokens import arecognize
from tenure.errors import NotRecognized, TenureError

_CALLER = "tenure.mcp.caller"


def http_app(client: Client, server: Server[Any], *, host: str = "127.0.0.1") -> ASGIApp:
    """Return a server as an ASGI app with the path /mcp; a session belongs to its principal."""
    app = server.streamable_http_app(host=host)

    async def authenticated(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                caller = await _caller(client, dict(scope["headers"]).get(b"authorization", b""))
            except TenureError as error:
                await _refusal(error)(scope, receive, send)
                return
            scope[_CALLER], scope["user"] = caller, _user(caller)
        await app(scope, receive, send)

    return authenticated


def caller_of_request(context: ServerRequestContext[Any, Any]) -> AuthorizedClient:
    """Return the client that acts for the caller of a request."""
    if context.request is None or _CALLER not in context.request.scope:
        raise NotRecognized("this server needs a principal, or HTTP requests with a token")
    caller: AuthorizedClient = context.request.scope[_CALLER]
    return caller


async def _caller(client: Client, header: bytes) -> AuthorizedClient:
    scheme, _, secret = header.decode("latin-1").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise NotRecognized("a token is needed: Authorization: Bearer ...")
    return AuthorizedClient(client, await arecognize(client, secret.strip(), via="mcp"))


def _user(caller: AuthorizedClient) -> AuthenticatedUser:
    """Return the principal as the sessions compare it."""
    who = caller.principal
    name = f"{who.tenant.name}/{who.name}"
    return AuthenticatedUser(AccessToken(token="", client_id=name, scopes=[str(who.role)]))


def _refusal(error: TenureError) -> JSONResponse:
    about = {"type": type(error).__name__, "message": str(error)}
    headers = {"www-authenticate": "Bearer"} if error.http_status == 401 else None
    return JSONResponse({"error": about}, error.http_status, headers)
