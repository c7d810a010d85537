"""``handle.stream()``: the stream of a job in code, with ``for`` and with ``async for``."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager

from tenure.control.client import Client
from tenure.control.job_stream import (
    OutputQuery,
    StreamBatch,
    StreamItem,
    read_position,
    read_stream,
)
from tenure.control.polling import Reader
from tenure.control.subscription import Subscription
from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused


class JobStream:
    """The items of the stream of a job until it has ended: ``for`` or ``async for``.

    Each loop begins after the same item; to continue a loop that was broken off, open a stream
    after the last item that it gave.
    """

    def __init__(self, client: Client, job: int, tenant: Tenant, after: int | str) -> None:
        self._position = read_position(after)
        self._client = client
        self._job = job
        self._tenant = tenant

    def __aiter__(self) -> AsyncIterator[StreamItem]:
        return self._items()

    async def _items(self) -> AsyncGenerator[StreamItem]:
        async with aclosing(self.batches()) as batches:
            async for batch in batches:
                for item in batch.items:
                    yield item

    def batches(self) -> AsyncGenerator[StreamBatch]:
        """Yield the items as they are found: those that came together in one batch."""
        return read_stream(self._reading(), self._position)

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[tuple[OutputQuery, Reader]]:
        async with (
            Subscription(self._client) as subscription,
            subscription.reading(self._tenant, self._job) as reading,
        ):
            yield reading

    def __iter__(self) -> Iterator[StreamItem]:
        """Run the async loop in a loop of its own, one item at a time."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._in_own_loop()
        raise InputRefused("this loop would block the event loop; use `async for` here")

    def _in_own_loop(self) -> Iterator[StreamItem]:
        loop = asyncio.new_event_loop()
        items = self._items()
        try:
            while True:
                try:
                    yield loop.run_until_complete(anext(items))
                except StopAsyncIteration:
                    return
        finally:
            loop.run_until_complete(items.aclose())
            loop.run_until_complete(self._client.aclose_loop())
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()
