"""Server-sent events: the current state, then each change, until nothing more can come."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager, aclosing
from typing import Any, TypeVar

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tenure.control.polling import Event
from tenure.errors import NotRecognized

T = TypeVar("T")

BEAT = 15.0  # seconds between two heartbeats
FIRST_WAIT = 1.0  # seconds until a client that is up to date gets its response
RECONNECT = b"retry: 2000\n\n"  # milliseconds, for a client that lost its connection

_HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-accel-buffering": "no",
}

Events = AsyncGenerator[Event[Any]]


class Stream(Response):
    """A response that sends events, each with the id of the state that it reports.

    A client that reconnects with that id receives only what is new. If it has seen the last event,
    it gets 204 and does not reconnect. ``allowed`` is called at each heartbeat, and raises when the
    stream must end.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        events: Events,
        quota: AbstractContextManager[None],
        allowed: Callable[[], Awaitable[object]],
    ) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._events = events
        self._quota = quota
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.ensure_future(disconnected(receive))
        upcoming = _NextEvent(self._events)
        try:
            with self._quota:
                await upcoming.wait(gone, FIRST_WAIT)
                if upcoming.has_ended:
                    await Response(status_code=204, headers=_HEADERS)(scope, receive, send)
                else:
                    await self._send_events(upcoming, gone, send)
        finally:
            await cancel(gone)
            await upcoming.close()

    async def _send_events(
        self, upcoming: "_NextEvent", gone: asyncio.Future[None], send: Send
    ) -> None:
        event = upcoming.take()  # an error is answered before anything is sent
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await _send(send, RECONNECT)
        beat = _now() + BEAT
        while not gone.done():
            if event is not None:
                await _send(send, _encode(event))
            if upcoming.has_ended:
                await _send(send, b"", more=False)
                return
            if _now() >= beat:
                if not await self._is_allowed():
                    await _send(send, b"", more=False)
                    return
                await _send(send, b": beat\n\n")
                beat = _now() + BEAT
            await upcoming.wait(gone, beat - _now())
            event = upcoming.take()

    async def _is_allowed(self) -> bool:
        try:
            await self._allowed()
        except NotRecognized:
            return False
        return True


class _NextEvent:
    """The next event of a generator."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._next = self._request()

    def _request(self) -> asyncio.Future[Event[Any]]:
        return asyncio.ensure_future(anext(self._events))

    @property
    def has_ended(self) -> bool:
        return self._next.done() and isinstance(self._next.exception(), StopAsyncIteration)

    async def wait(self, gone: asyncio.Future[None], seconds: float) -> None:
        """Wait until the event is there, the time is over, or the client is gone."""
        either: set[asyncio.Future[Any]] = {self._next, gone}
        await asyncio.wait(either, timeout=max(0, seconds), return_when="FIRST_COMPLETED")

    def take(self) -> Event[Any] | None:
        """Return the event if it is there, and request the one after it."""
        if self.has_ended or not self._next.done():
            return None
        event = self._next.result()
        self._next = self._request()
        return event

    async def close(self) -> None:
        async with aclosing(self._events):
            await cancel(self._next)


async def events_of(values: AsyncGenerator[T], event: Callable[[T], Event[T]]) -> Events:
    """Yield each value as an event."""
    async with aclosing(values):
        async for value in values:
            yield event(value)


async def disconnected(receive: Receive) -> None:
    """Return when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def cancel(task: asyncio.Future[Any]) -> None:
    """Cancel a task, wait for its end, and ignore its result."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()


def _encode(event: Event[Any]) -> bytes:
    data = msgspec.json.encode(event.value)
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (event.id.encode(), event.kind.encode(), data)


async def _send(send: Send, data: bytes, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": more})


def _now() -> float:
    return asyncio.get_running_loop().time()
