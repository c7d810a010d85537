"""Who looks at the page, and whether a form is one of ours.

The session is the token itself, in a cookie that no script reads: it outlives a restart of the
server, and ends when the token is revoked. Only the page takes the cookie; the API does not.
"""

import hashlib
import hmac
import secrets
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from tenure.errors import NotAllowed
from tenure.web.principals import Recognizer

COOKIE = "tenure_session"
SESSIONS = "tenure.sessions"
_FORM_COOKIE = "tenure_form"  # of those who are recognized by something else than our cookie
_FORM_KEY = "tenure.form_key"


class Sessions(Recognizer):
    """Finds the principal of a request by its cookie."""

    via = "page"

    def _secret(self, request: Request) -> str | None:
        return request.cookies.get(COOKIE)


def sessions_of(request: Request) -> Sessions:
    sessions: Sessions = request.scope[SESSIONS]
    return sessions


def begin(request: Request, response: Response, secret: str) -> None:
    """Remember a token until the browser is closed."""
    _set_cookie(request, response, COOKIE, secret)


def end(request: Request, response: Response) -> None:
    response.delete_cookie(COOKIE, path=_place(request), httponly=True, samesite="strict")


def form_token(request: Request) -> str:
    """What every form that changes something carries, and nobody else can know."""
    return _token(_form_key(request))


def remember_form_key(request: Request, response: Response) -> None:
    """Let the browser bring back the key that was drawn for it."""
    if (drawn := request.scope.get(_FORM_KEY)) is not None:
        _set_cookie(request, response, _FORM_COOKIE, drawn)


def refuse_forged(request: Request, sent: str | None) -> None:
    """Refuse a form that is not one of ours, or was filled for somebody else."""
    refuse_foreign(request)
    key = request.cookies.get(COOKIE) or request.cookies.get(_FORM_COOKIE)
    if key is None or not hmac.compare_digest(_token(key).encode(), (sent or "").encode()):
        raise NotAllowed("this form is not of your session; go back, reload the page and try again")


def refuse_foreign(request: Request) -> None:
    """Refuse what another site sends in somebody's name, as far as the browser says so."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        is_ours = site in ("same-origin", "none")
    elif origin is not None:
        hosts = (request.headers.get("host"), request.headers.get("x-forwarded-host"))
        is_ours = urlsplit(origin).netloc in hosts
    else:
        is_ours = True
    if not is_ours:
        raise NotAllowed("this form was sent by another site")


def _form_key(request: Request) -> str:
    key = request.cookies.get(COOKIE) or request.cookies.get(_FORM_COOKIE)
    if key is None:
        key = request.scope.setdefault(_FORM_KEY, secrets.token_urlsafe(32))
    return key


def _token(key: str) -> str:
    return hmac.new(key.encode(), b"csrf", hashlib.sha256).hexdigest()


def _set_cookie(request: Request, response: Response, name: str, value: str) -> None:
    is_secure = request.url.scheme == "https"
    response.set_cookie(
        name, value, path=_place(request), httponly=True, samesite="strict", secure=is_secure
    )


def _place(request: Request) -> str:
    root: str = request.scope.get("root_path", "")
    return f"{root.rstrip('/')}/"
