"""In front of everything: no URL of any length, and no work for a client that is gone."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.web.errors import Refused, refused
from tenure.web.streams import cancel

MOST_URL = 8 << 10  # bytes, the query included
LEAVING = "tenure.leaving"  # marks a disconnect that the server makes up when it leaves
_NOTHING: Message = {"type": "http.request", "body": b"", "more_body": False}
_GONE: Message = {"type": "http.disconnect"}


class RequestGuard:
    """Refuses long URLs, and gives up a read whose client has hung up before its answer.

    The task of the request is cancelled, and with it the statement that it waits for in PostgreSQL.
    Changes are carried out to their end.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MOST_URL:
            too_long = Refused(414, f"the URL is longer than the {MOST_URL} bytes that are taken")
            await refused(too_long)(scope, receive, send)
        elif scope["method"] in ("GET", "HEAD"):
            await self._read(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _read(self, scope: Scope, receive: Receive, send: Send) -> None:
        working = asyncio.current_task()
        assert working is not None
        gone = asyncio.Event()
        is_asked = has_started = is_given_up = False

        async def received() -> Message:
            """Nothing reads the body of a read, so there is none."""
            nonlocal is_asked
            if not is_asked:
                is_asked = True
                return _NOTHING
            await gone.wait()
            return _GONE

        async def sent(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        async def listen() -> None:
            nonlocal is_given_up
            message = await receive()
            while message["type"] != "http.disconnect":
                message = await receive()
            gone.set()
            # An answer that has begun ends by itself: its sender hears of the disconnect.
            if not has_started and LEAVING not in message:
                is_given_up = True
                working.cancel()

        listening = asyncio.ensure_future(listen())
        try:
            await self._app(scope, received, sent)
        except asyncio.CancelledError:
            if not is_given_up:
                raise
        finally:
            if is_given_up:
                working.uncancel()
            await cancel(listening)
