"""The authentication of every request to the API."""

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.control.authorized_client import AuthorizedClient
from tenure.web.errors import response_to
from tenure.web.limits import Quota, require_json
from tenure.web.origins import SAFE
from tenure.web.principals import Authenticator

OPEN = frozenset({"/healthz", "/readyz"})  # they answer only yes or no
CALLER = "tenure.caller"


class AuthenticationMiddleware:
    """Authenticate every request, and turn every error into a response.

    It wraps the whole app, so that a new route cannot be left open by mistake.
    """

    def __init__(self, app: ASGIApp, authenticator: Authenticator, requests: Quota) -> None:
        self._app = app
        self._authenticator = authenticator
        self._requests = requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def sent(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            if path_of(scope) not in OPEN:
                request = Request(scope, receive)
                caller = scope[CALLER] = await self._authenticator.authenticate(request)
                self._require_json(request)
                # A caller with many requests in progress must leave connections to the others.
                with self._requests.hold(caller.principal):
                    await self._app(scope, receive, sent)
            else:
                await self._app(scope, receive, sent)
        except ClientDisconnect:
            return  # while the body was read: nobody waits for a response
        except Exception as error:
            if started:
                raise
            await response_to(error)(scope, receive, send)

    def _require_json(self, request: Request) -> None:
        """Refuse a change that a form of another site could send: forms cannot send JSON."""
        if request.method not in SAFE and self._authenticator.is_sent_by_browser(request):
            require_json(request)


def caller_of(request: Request) -> AuthorizedClient:
    """Return the client that acts for the caller of a request."""
    caller: AuthorizedClient = request.scope[CALLER]
    return caller


def path_of(scope: Scope) -> str:
    """Return the path without the prefix under which the app is mounted."""
    path: str = scope["path"]
    root = scope.get("root_path", "").rstrip("/")
    return path.removeprefix(root) if path.startswith(f"{root}/") else path
