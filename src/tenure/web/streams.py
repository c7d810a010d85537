"""Server-sent events: what there is now, then each change, until there is no more to come."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager, aclosing, suppress
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tenure.control.looks import Event
from tenure.errors import NotRecognized

BEAT = 15.0  # seconds between two signs of life
FIRST_LOOK = 1.0  # seconds; who has seen all there is is not kept waiting for longer
RECONNECT = 2000  # milliseconds, for a client that was cut off

_HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-accel-buffering": "no",
}

Events = AsyncGenerator[Event[Any]]


class Stream(Response):
    """Each event has the id of the state it tells: who comes back with it is told only what is new.

    A client that has seen the last event is answered with 204, and does not come back. ``allowed``
    is asked at each beat whether the stream may go on.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        events: Events,
        place: AbstractContextManager[None],
        allowed: Callable[[], Awaitable[object]],
    ) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._events = events
        self._place = place
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._place:
            async with aclosing(self._events):
                gone = asyncio.ensure_future(_disconnected(receive))
                try:
                    await self._serve(scope, receive, send, gone)
                finally:
                    await _end(gone)

    async def _serve(
        self, scope: Scope, receive: Receive, send: Send, gone: asyncio.Future[Any]
    ) -> None:
        following: asyncio.Future[Any] = asyncio.ensure_future(anext(self._events))
        try:
            await asyncio.wait({following, gone}, timeout=FIRST_LOOK, return_when="FIRST_COMPLETED")
            if following.done() and isinstance(following.exception(), StopAsyncIteration):
                await Response(status_code=204, headers=_HEADERS)(scope, receive, send)
                return
            if following.done():
                following.result()  # what is wrong with the request is answered as ever
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await _send(send, f"retry: {RECONNECT}\n\n".encode())
            beat = _now() + BEAT
            while not gone.done():
                await asyncio.wait(
                    {following, gone}, timeout=beat - _now(), return_when="FIRST_COMPLETED"
                )
                if following.done():
                    if following.exception() is not None:
                        break
                    await _send(send, _written(following.result()))
                    following = asyncio.ensure_future(anext(self._events))
                if _now() >= beat:
                    beat = _now() + BEAT
                    with suppress(NotRecognized):
                        await self._allowed()
                        await _send(send, b": beat\n\n")
                        continue
                    break
            if not gone.done():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await _end(following)


def _written(event: Event[Any]) -> bytes:
    data = msgspec.json.encode(event.value)
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (event.id.encode(), event.kind.encode(), data)


async def _send(send: Send, piece: bytes) -> None:
    await send({"type": "http.response.body", "body": piece, "more_body": True})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _end(task: asyncio.Future[Any]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError, StopAsyncIteration, Exception):
        await task


def _now() -> float:
    return asyncio.get_running_loop().time()
