"""Tokens: made, listed and revoked by admins."""

from datetime import UTC, datetime, timedelta

from starlette.requests import Request
from starlette.responses import Response

from tenure.control.tokens import amake_token
from tenure.domain.duration import in_words
from tenure.domain.principal import TOKEN_LIFETIME, Role
from tenure.errors import InputRefused, NotFound
from tenure.store.calls import control_calls, queries
from tenure.store.results import Token
from tenure.web.authentication import caller_of
from tenure.web.dashboard.forms import form_of
from tenure.web.dashboard.rendering import redirect, render
from tenure.web.limits import MAX_ID
from tenure.web.stops import read_duration

NEVER = "never"


async def list_tokens(request: Request) -> Response:
    return await _page(request)


async def create_token(request: Request) -> Response:
    """Its secret is in this answer and nowhere else, so there is no other page to go to."""
    form = form_of(request)
    secret, token = await amake_token(
        caller_of(request),
        form.required("name", "a token is somebody's: say whose"),
        _role(form.get("role")),
        tenant=form.get("tenant"),
        lifetime=_lifetime(form.get("lifetime")),
    )
    return await _page(request, made=token, secret=secret)


async def revoke_token(request: Request) -> Response:
    text, form = request.path_params["token"], form_of(request)
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= MAX_ID):
        raise NotFound(f"there is no token {text[:20]!r}")
    await caller_of(request).asend(control_calls.revoke_token(int(text), reason=form.reason))
    return redirect(request, "/tokens")


async def _page(request: Request, made: Token | None = None, secret: str | None = None) -> Response:
    found = await caller_of(request).asend(queries.tokens())
    return render(
        request,
        "tokens.html",
        tokens=[(one, _status(one)) for one in reversed(found)],
        roles=list(Role),
        lifetime=in_words(TOKEN_LIFETIME),
        made=made,
        secret=secret,
    )


def _status(token: Token) -> str:
    if token.revoked_at is not None:
        return "revoked"
    is_over = token.expires_at is not None and token.expires_at <= datetime.now(UTC)
    return "expired" if is_over else "valid"


def _lifetime(text: str | None) -> timedelta | None:
    if text is None:
        return TOKEN_LIFETIME
    return None if text.strip() == NEVER else read_duration("lifetime", text)


def _role(text: str | None) -> Role:
    try:
        return Role(text or Role.VIEWER)
    except ValueError:
        raise InputRefused(f"a role is {', '.join(Role)}; {text!r} is none of these") from None
