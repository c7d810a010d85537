"""The outermost middleware: a limit on URLs, and no work for clients that are gone."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.web.errors import Refused, response_to
from tenure.web.streams import cancel

MAX_URL = 8 << 10  # bytes, the query included
LEAVING = "tenure.leaving"  # marks a disconnect that the server itself sends when it shuts down
_NOTHING: Message = {"type": "http.request", "body": b"", "more_body": False}
_GONE: Message = {"type": "http.disconnect"}


class RequestGuard:
    """Refuse long URLs, and cancel a read whose client has disconnected before the response.

    Cancelling the task also cancels its statement in PostgreSQL. Changes always run to their end.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_URL:
            too_long = Refused(414, f"the URL is longer than the maximum of {MAX_URL} bytes")
            await response_to(too_long)(scope, receive, send)
        elif scope["method"] in ("GET", "HEAD"):
            await self._read(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _read(self, scope: Scope, receive: Receive, send: Send) -> None:
        working = asyncio.current_task()
        assert working is not None
        gone = asyncio.Event()
        is_received = has_started = is_cancelled = False

        async def received() -> Message:
            """Return an empty body: no read has one."""
            nonlocal is_received
            if not is_received:
                is_received = True
                return _NOTHING
            await gone.wait()
            return _GONE

        async def sent(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        async def listen() -> None:
            nonlocal is_cancelled
            message = await receive()
            while message["type"] != "http.disconnect":
                message = await receive()
            gone.set()
            # A response that has begun ends by itself: its sender receives the disconnect.
            if not has_started and LEAVING not in message:
                is_cancelled = True
                working.cancel()

        listening = asyncio.ensure_future(listen())
        try:
            await self._app(scope, received, sent)
        except asyncio.CancelledError:
            if not is_cancelled:
                raise
        finally:
            if is_cancelled:
                working.uncancel()
            await cancel(listening)
