"""Server-sent events: the current state, then each change, until nothing more can come."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager, aclosing
from typing import Any, Generic, TypeVar

import msgspec
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from tenure.control.job_stream import StreamBatch, StreamItem
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


class Stream(Response, Generic[T]):
    """A response that sends events, each with the id of the state that it reports.

    A client that reconnects with that id receives only what is new. If it has seen the last event,
    it gets 204 and does not reconnect. ``allowed`` is called at each heartbeat, and raises when the
    stream must end.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        values: AsyncGenerator[T],
        encode: Callable[[T], bytes],
        quota: AbstractContextManager[None],
        allowed: Callable[[], Awaitable[object]],
    ) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._values = values
        self._encode = encode
        self._quota = quota
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.ensure_future(disconnected(receive))
        first = asyncio.ensure_future(anext(self._values))
        try:
            with self._quota:
                await asyncio.wait({first, gone}, timeout=FIRST_WAIT, return_when="FIRST_COMPLETED")
                if first.done() and isinstance(first.exception(), StopAsyncIteration):
                    await Response(status_code=204, headers=_HEADERS)(scope, receive, send)
                else:
                    await self._send_all(first, gone, send)
        finally:
            await cancel(gone)
            async with aclosing(self._values):
                await cancel(first)

    async def _send_all(
        self, first: asyncio.Future[T], gone: asyncio.Future[None], send: Send
    ) -> None:
        if first.done():
            first.result()  # an error is answered before anything is sent
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await send(_body(RECONNECT))
        sending = asyncio.ensure_future(self._send_values(first, send))
        try:
            is_there = await self._beat(sending, gone, send)
        finally:
            await cancel(sending)
        if is_there:
            await send(_body(b"", more=False))

    async def _send_values(self, first: asyncio.Future[T], send: Send) -> None:
        encode = self._encode
        try:
            await send(_body(encode(await first)))
        except StopAsyncIteration:
            return
        async for value in self._values:
            await send(_body(encode(value)))

    async def _beat(
        self, sending: asyncio.Future[None], gone: asyncio.Future[None], send: Send
    ) -> bool:
        """Send a sign of life now and then; return whether the client is still there at the end."""
        while True:
            await asyncio.wait({sending, gone}, timeout=BEAT, return_when="FIRST_COMPLETED")
            if sending.done():
                sending.result()
                return True
            if gone.done():
                return False
            if not await self._is_allowed():
                return True
            await send(_body(b": beat\n\n"))

    async def _is_allowed(self) -> bool:
        try:
            await self._allowed()
        except NotRecognized:
            return False
        return True


async def events_of(values: AsyncGenerator[T], event: Callable[[T], Event[T]]) -> Events:
    """Yield each value as an event."""
    async with aclosing(values):
        async for value in values:
            yield event(value)


def encode_event(event: Event[Any] | StreamItem) -> bytes:
    data = msgspec.json.encode(event.value)
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (event.id.encode(), event.kind.encode(), data)


def encode_batch(batch: StreamBatch) -> bytes:
    """Return the items of a batch as one chunk, which is encoded once for all readers."""
    if batch.encoded is None:
        batch.encoded = b"".join(map(encode_event, batch.items))
    return batch.encoded


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


def _body(data: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}
