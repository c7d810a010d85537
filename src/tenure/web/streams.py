"""Server-sent events: what there is now, then each change, until there is no more to come."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager, aclosing
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tenure.control.polling import Event
from tenure.errors import NotRecognized

BEAT = 15.0  # seconds between two signs of life
FIRST_LOOK = 1.0  # seconds; who has seen all there is so far is not kept waiting for longer
RECONNECT = b"retry: 2000\n\n"  # milliseconds, for a client that was cut off

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
        gone = asyncio.ensure_future(disconnected(receive))
        coming = _Coming(self._events)
        try:
            with self._place:
                await coming.wait(gone, FIRST_LOOK)
                if coming.is_over:
                    await Response(status_code=204, headers=_HEADERS)(scope, receive, send)
                else:
                    await self._pass_on(coming, gone, send)
        finally:
            await cancel(gone)
            await coming.close()

    async def _pass_on(self, coming: "_Coming", gone: asyncio.Future[None], send: Send) -> None:
        event = coming.take()  # what is wrong with the request is answered before anything is sent
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await _send(send, RECONNECT)
        beat = _now() + BEAT
        while not gone.done():
            if event is not None:
                await _send(send, _written(event))
            if coming.is_over:
                await _send(send, b"", more=False)
                return
            if _now() >= beat:
                if not await self._may_go_on():
                    await _send(send, b"", more=False)
                    return
                await _send(send, b": beat\n\n")
                beat = _now() + BEAT
            await coming.wait(gone, beat - _now())
            event = coming.take()

    async def _may_go_on(self) -> bool:
        try:
            await self._allowed()
        except NotRecognized:
            return False
        return True


class _Coming:
    """The event that comes next."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._next = self._asked()

    def _asked(self) -> asyncio.Future[Event[Any]]:
        return asyncio.ensure_future(anext(self._events))

    @property
    def is_over(self) -> bool:
        return self._next.done() and isinstance(self._next.exception(), StopAsyncIteration)

    async def wait(self, gone: asyncio.Future[None], seconds: float) -> None:
        """Until it is there, at most for so long, and not if nobody wants it any more."""
        either: set[asyncio.Future[Any]] = {self._next, gone}
        await asyncio.wait(either, timeout=max(0, seconds), return_when="FIRST_COMPLETED")

    def take(self) -> Event[Any] | None:
        """The event if it is there; from now on the one after it is waited for."""
        if self.is_over or not self._next.done():
            return None
        event = self._next.result()
        self._next = self._asked()
        return event

    async def close(self) -> None:
        async with aclosing(self._events):
            await cancel(self._next)


async def disconnected(receive: Receive) -> None:
    """Returns when nobody waits for the answer any more."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def cancel(task: asyncio.Future[Any]) -> None:
    """Give up on it, whatever it comes to."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()


def _written(event: Event[Any]) -> bytes:
    data = msgspec.json.encode(event.value)
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (event.id.encode(), event.kind.encode(), data)


async def _send(send: Send, piece: bytes, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": piece, "more_body": more})


def _now() -> float:
    return asyncio.get_running_loop().time()
