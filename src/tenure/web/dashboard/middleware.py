"""The middleware of the dashboard: it asks for a login, and refuses forged forms."""

import logging
from contextlib import AbstractContextManager, nullcontext
from http import HTTPStatus

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.control.authorized_client import AuthorizedClient
from tenure.errors import NotRecognized
from tenure.web.authentication import CALLER, path_of
from tenure.web.dashboard import rendering, routes
from tenure.web.dashboard.attention import ATTENTIONS, Attentions, read_counts
from tenure.web.dashboard.form import FORM, read_form
from tenure.web.dashboard.history import HISTORIES, Histories
from tenure.web.dashboard.rendering import redirect
from tenure.web.dashboard.sessions import SESSIONS, Sessions, drop_cookie, refuse_forged
from tenure.web.dashboard.sidebar import SIDEBARS, Sidebars
from tenure.web.dashboard.status_counts import COUNTS, StatusCounts
from tenure.web.dashboard.tenant_switch import in_chosen_tenant
from tenure.web.errors import explain_error
from tenure.web.limits import Quota

log = logging.getLogger("tenure.web")

API = "/api/"
OPEN = frozenset({"/login"})
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
}


class Dashboard:
    """Serve the paths of the dashboard; pass all others on to the API."""

    def __init__(self, app: ASGIApp, sessions: Sessions, requests: Quota) -> None:
        self._app = app
        self._sessions = sessions
        self._requests = requests
        self._histories = Histories()
        self._counts = StatusCounts()
        self._attentions = Attentions()
        self._sidebars = Sidebars(self._attentions)
        self._router = Router(routes.ROUTES, redirect_slashes=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self._is_dashboard(scope):
            await self._app(scope, receive, send)
            return
        started = False

        async def sent(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                _add_headers(MutableHeaders(scope=message))
            await send(message)

        request = Request(scope, receive)
        scope[SESSIONS] = self._sessions
        scope[HISTORIES] = self._histories
        scope[COUNTS] = self._counts
        scope[ATTENTIONS] = self._attentions
        scope[SIDEBARS] = self._sidebars
        try:
            answer = await self._refused(request)
            with self._counted(scope):
                if answer is None and _is_whole_page(request):
                    await read_counts(request)
                await (answer or self._router)(scope, receive, sent)
                if request.method == "POST" and CALLER in scope:
                    self._attentions.forget(scope[CALLER].principal.tenant)
        except ClientDisconnect:
            return  # while the form was read: nobody waits for a response
        except Exception as error:
            if started:
                raise
            await error_page(request, error)(scope, receive, sent)

    def _counted(self, scope: Scope) -> AbstractContextManager[None]:
        """Count the request for its caller; a login has none."""
        caller: AuthorizedClient | None = scope.get(CALLER)
        return nullcontext() if caller is None else self._requests.hold(caller.principal)

    def _is_dashboard(self, scope: Scope) -> bool:
        if path_of(scope).startswith(API):  # checked first: most requests are for the API
            return False
        return any(route.matches(scope)[0] is not Match.NONE for route in routes.ROUTES)

    async def _refused(self, request: Request) -> Response | None:
        """Return the response that replaces the page; none if the page may be shown."""
        path = path_of(request.scope)
        if path.startswith("/static/"):
            return None
        if path not in OPEN:
            try:
                caller = await self._sessions.authenticate(request)
                request.scope[CALLER] = await in_chosen_tenant(request, caller)
            except NotRecognized as error:
                return _login_first(request, path, error)
            if request.method == "POST":
                form = request.scope[FORM] = await read_form(request)
                refuse_forged(request, form.get("csrf"))
        return None


def error_page(request: Request, error: Exception) -> Response:
    status, message = explain_error(error)
    title = HTTPStatus(status).phrase
    return rendering.render(request, "error.html", status, title=title, message=message)


def _is_whole_page(request: Request) -> bool:
    """Tell whether the response to a request has a sidebar."""
    path = path_of(request.scope)
    is_page = not path.startswith(("/static/", "/jump", "/complete")) and not path.endswith("/live")
    return (
        request.method == "GET"
        and CALLER in request.scope
        and is_page
        and ("x-fragment" not in request.headers)
    )


def _login_first(request: Request, path: str, error: NotRecognized) -> Response:
    if request.headers.get("x-fragment") or path.endswith("/live"):
        response: Response = Response(status_code=401)
    elif request.method in ("GET", "HEAD"):
        wanted = path + (f"?{request.url.query}" if request.url.query else "")
        response = redirect(request, "/login", {"next": wanted if wanted != "/" else None})
    else:
        response = error_page(request, error)
    drop_cookie(request, response)
    return response


def _add_headers(headers: MutableHeaders) -> None:
    for name, value in _HEADERS.items():
        headers[name] = value
    headers.setdefault("cache-control", "no-store")
