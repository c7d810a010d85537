"""HTTP clients whose requests are tracked, so that a close can wait for them or abort them."""

import asyncio
import inspect
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Self
from weakref import WeakSet

from tenure.errors import CloseFailed, ResourceClosed
from tenure.runtime.resources.calls import call, cut, is_done_within, within
from tenure.runtime.resources.manager import ResourceManager

POLL = 0.005
ABORT_PATIENCE = 0.05  # seconds for the client to close by force


class HTTPResourceManager(ResourceManager):
    """An HTTP client. Attributes that the manager lacks are looked up on the client.

    Every request of an ``httpx`` client is tracked, whether it is made through the manager or
    through the client. Requests of another client are tracked inside ``tracked_request()``.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self._tracked: set[TrackedRequest] = set()
        self._bodies: WeakSet[Any] = WeakSet()  # streamed responses
        self._closing = False
        if callable(getattr(client, "send", None)) and hasattr(client, "build_request"):
            self._watch(client)

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "client":  # a half-initialised manager has no client
            raise AttributeError(attribute)
        return getattr(self.client, attribute)

    @property
    def active_requests(self) -> int:
        """Return the number of open requests, including responses being read."""
        return len(self._tracked) + sum(not body.is_closed for body in list(self._bodies))

    def is_active(self) -> bool:
        return self.active_requests > 0

    def tracked_request(self) -> "TrackedRequest":
        """Return a block, ``with`` or ``async with``, that a close waits for and force ends."""
        return TrackedRequest(self)

    async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:
        self._closing = True
        deadline = time.monotonic() + timeout_seconds
        while self.is_active():
            if time.monotonic() >= deadline:
                return False
            await asyncio.sleep(POLL)
        return await is_done_within(max(deadline - time.monotonic(), POLL), self._close())

    async def force_close(self) -> None:
        self._closing = True
        for request in list(self._tracked):
            request.abort()
        for descriptor in list(_sockets(self.client)):
            with suppress(OSError):
                cut(descriptor)
        try:
            await within(ABORT_PATIENCE, self._close())
        except Exception as error:
            if not getattr(self.client, "is_closed", False):
                raise CloseFailed(f"the client did not close: {error}") from error

    async def _close(self) -> None:
        for method in ("aclose", "close"):
            if callable(close := getattr(self.client, method, None)):
                await call(close)
                return
        raise CloseFailed(f"{type(self.client).__name__} has neither aclose nor close")

    def _watch(self, client: Any) -> None:
        send = client.send

        async def asend(request: Any, **options: Any) -> Any:
            async with self.tracked_request():
                return self._body(await send(request, **options), options)

        def plain_send(request: Any, **options: Any) -> Any:
            with self.tracked_request():
                return self._body(send(request, **options), options)

        client.send = asend if inspect.iscoroutinefunction(send) else plain_send

    def _body(self, response: Any, options: dict[str, Any]) -> Any:
        if options.get("stream"):
            self._bodies.add(response)
        return response


class TrackedRequest:
    """An open request."""

    def __init__(self, manager: HTTPResourceManager) -> None:
        self._manager = manager
        self._task: asyncio.Task[Any] | None = None
        self._cancels = 0  # cancel requests of the task from before the block
        self._aborted = False
        self._cancelled = False

    def __enter__(self) -> Self:
        if self._manager._closing:
            raise ResourceClosed("the HTTP client is being closed and takes no new requests")
        self._manager._tracked.add(self)
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._manager._tracked.discard(self)
        was_aborted = self._aborted
        if isinstance(error, asyncio.CancelledError):
            # A cancel of the whole task, which may have come as well, propagates.
            was_aborted = self._cancelled and self._take_back() <= self._cancels
        elif self._cancelled:
            self._take_back()
        if was_aborted and error is not None:
            raise ResourceClosed("the HTTP client was closed during the request") from error

    async def __aenter__(self) -> Self:
        self._task = asyncio.current_task()
        self._cancels = self._task.cancelling() if self._task else 0
        return self.__enter__()

    async def __aexit__(self, *raised: Any) -> None:
        self.__exit__(*raised)

    def abort(self) -> None:
        if self._aborted:
            return
        self._aborted = True
        if self._task is not None:
            with suppress(RuntimeError):  # its loop is closed, so the task is gone
                self._task.get_loop().call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None and self in self._manager._tracked:
            self._cancelled = self._task.cancel()

    def _take_back(self) -> int:
        return self._task.uncancel() if self._task is not None else 0


def _sockets(client: Any) -> Iterator[int]:
    """Yield the open sockets of an httpx client, as far as they can be found."""
    pool = getattr(getattr(client, "_transport", None), "_pool", None)
    for connection in getattr(pool, "connections", ()):
        stream = getattr(getattr(connection, "_connection", None), "_network_stream", None)
        found = stream.get_extra_info("socket") if stream is not None else None
        if found is not None:
            yield found.fileno()
