"""The way in: nobody comes further who is not recognized, and nothing goes out but answers."""

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.control.behalf import Behalf
from tenure.errors import TenureError
from tenure.web.errors import refusal, unexpected
from tenure.web.principals import Recognizer

OPEN = frozenset({"/healthz", "/readyz"})  # they say only yes or no
BEHALF = "tenure.behalf"


class Entrance:
    """Around the whole app, so that a route that is added tomorrow is closed as well."""

    def __init__(self, app: ASGIApp, recognizer: Recognizer) -> None:
        self._app = app
        self._recognizer = recognizer

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
                scope[BEHALF] = await self._recognizer.recognized(request)
            await self._app(scope, receive, sent)
        except TenureError as error:
            if started:
                raise
            await refusal(error)(scope, receive, send)
        except Exception as error:
            if started:
                raise
            await unexpected(error)(scope, receive, send)


def behalf_of(request: Request) -> Behalf:
    """In whose name this request is carried out."""
    behalf: Behalf = request.scope[BEHALF]
    return behalf


def path_of(scope: Scope) -> str:
    """Without the prefix under which the app is mounted."""
    path: str = scope["path"]
    root = scope.get("root_path", "").rstrip("/")
    return path.removeprefix(root) if path.startswith(f"{root}/") else path
