"""Sessions of the dashboard, and protection against forged forms.

Each login creates a session, kept in a cookie that scripts cannot read. A session survives a
restart of the server. It ends when the user logs out, when the token is revoked or expires, and
after 30 days. Only the dashboard accepts the cookie; the API does not.
"""

import hashlib
import hmac
import secrets

from starlette.requests import Request
from starlette.responses import Response

from tenure.control.tokens import (
    alog_in,
    alog_in_by_code,
    alog_out,
    arecognize_session,
)
from tenure.domain.principal import Principal
from tenure.errors import NotAllowed, NotRecognized
from tenure.web.authentication import caller_of
from tenure.web.origins import is_https, is_loopback
from tenure.web.principals import Authenticator

COOKIE = "tenure_session"
SESSIONS = "tenure.sessions"
_FORM_COOKIE = "tenure_form"  # of users without a session
_FORM_KEY = "tenure.form_key"


class Sessions(Authenticator):
    """Find the principal of a request by its cookie."""

    via = "dashboard"

    def is_sent_by_browser(self, request: Request) -> bool:  # noqa: ARG002
        return True

    async def begin(self, request: Request, response: Response, secret: str) -> None:
        """Log in with a token, until the browser is closed."""
        _set_cookie(request, response, COOKIE, await alog_in(self._client, secret))

    async def begin_by_code(self, request: Request, response: Response, code: str) -> None:
        """Log in with a link of `tenure up`, from this machine only."""
        if request.client is None or not is_loopback(request.client.host):
            raise NotRecognized("a link works only on the machine where it was created")
        _set_cookie(request, response, COOKIE, await alog_in_by_code(self._client, code))

    async def end(self, request: Request, response: Response) -> None:
        """Log out on the server too, so that a copied cookie is worthless."""
        if (session := request.cookies.get(COOKIE)) is not None:
            await alog_out(self._client, session)
            self._forget(session)
        drop_cookie(request, response)

    def _secret(self, request: Request) -> str | None:
        return request.cookies.get(COOKIE)

    async def _identify(self, secret: str) -> Principal:
        return await arecognize_session(self._client, secret)


def sessions_of(request: Request) -> Sessions:
    sessions: Sessions = request.scope[SESSIONS]
    return sessions


def drop_cookie(request: Request, response: Response) -> None:
    response.delete_cookie(COOKIE, path=cookie_path(request), httponly=True, samesite="strict")


def form_token(request: Request) -> str:
    """Return the secret that every form of this session contains."""
    return _token(request, _form_key(request))


def remember_form_key(request: Request, response: Response) -> None:
    """Set the cookie with the form key that was created for this browser."""
    if (key := request.scope.get(_FORM_KEY)) is not None:
        _set_cookie(request, response, _FORM_COOKIE, key)


def refuse_forged(request: Request, sent: str | None) -> None:
    """Refuse a form that this server did not create for this session."""
    key = request.cookies.get(COOKIE) or request.cookies.get(_FORM_COOKIE)
    if key is None or not hmac.compare_digest(_token(request, key).encode(), (sent or "").encode()):
        raise NotAllowed(
            "this form does not belong to your session; go back, reload the page and try again"
        )


def _form_key(request: Request) -> str:
    key = request.cookies.get(COOKIE) or request.cookies.get(_FORM_COOKIE)
    if key is None:
        key = request.scope.setdefault(_FORM_KEY, secrets.token_urlsafe(32))
    return key


def _token(request: Request, key: str) -> str:
    """Return what belongs to a browser and the tenant that its page shows."""
    tenant = caller_of(request).principal.tenant.name
    return hmac.new(key.encode(), b"csrf " + tenant.encode(), hashlib.sha256).hexdigest()


def _set_cookie(request: Request, response: Response, name: str, value: str) -> None:
    response.set_cookie(
        name,
        value,
        path=cookie_path(request),
        httponly=True,
        samesite="strict",
        secure=is_https(request),
    )


def cookie_path(request: Request) -> str:
    root: str = request.scope.get("root_path", "")
    return f"{root.rstrip('/')}/"
