"""Subscriptions to jobs, cancellations and statistics as they change.

A notification makes the next poll come sooner; without notifications the polls continue.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta
from typing import Any, Self

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.client import Client, as_tenant
from tenure.control.hub import Hub
from tenure.control.job_operations import job_with_key
from tenure.control.job_stream import Reading, StreamBatch, read_position, read_stream
from tenure.control.polling import Event, Subscriber
from tenure.domain.cancellation import CancellationRecord
from tenure.domain.job import Job
from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused

Whose = AuthorizedClient | Tenant | str


class Subscription:
    """Watch changes: ``async with Subscription(client) as subscription:``.

    Each iterator yields the present state, then changes, and ends when no change can follow. A slow
    reader gets the newest state. An outage of the database is waited out. All subscriptions of one
    event loop share one listener and one poll of each thing.

    ``after`` is the ``event_id`` of the last state that was seen: if nothing has changed since, it
    is not yielded again.
    """

    def __init__(self, client: Client, *, listen: bool = True) -> None:
        self._client = client
        self._listen = listen  # else notifications come only if another subscription listens
        self._hub: Hub | None = None

    async def job(
        self, whose: Whose, job: int | str, *, after: str | None = None
    ) -> AsyncGenerator[Job]:
        """Yield a job by its id or key, until it is completed, failed or cancelled."""
        tenant = _tenant(whose)
        if isinstance(job, str):
            job = await self._client.aperform(job_with_key(job), tenant)
        async with aclosing(self._events(tenant, [("job", job)], after)) as events:
            async for event in events:
                yield event.value

    def stream(
        self, whose: Whose, job: int, *, after: int | str = 0
    ) -> AsyncGenerator[StreamBatch]:
        """Yield what follows a position in the stream of a job, until the job has ended."""
        return read_stream(self.reading(whose, job), read_position(after))

    def reading(self, whose: Whose, job: int) -> Reading:
        """Return the query of what a job puts out, with a reader of it."""
        return self._opened.reading(_tenant(whose), job)

    async def cancellation(
        self,
        whose: Whose,
        cancellation_id: str,
        *,
        after: str | None = None,
        is_patient: bool = False,
    ) -> AsyncGenerator[CancellationRecord]:
        """Yield a record until it is closed; ``is_patient`` waits out an outage from the start."""
        wanted = [("cancellation", cancellation_id)]
        async with aclosing(self._events(_tenant(whose), wanted, after, is_patient)) as events:
            async for event in events:
                yield event.value

    async def closed(
        self,
        whose: Whose,
        record: CancellationRecord,
        timeout: timedelta | None = None,  # noqa: ASYNC109
        *,
        on_change: Callable[[CancellationRecord], object] = lambda _record: None,
    ) -> CancellationRecord:
        """Return a record when it is closed, or as it was last seen when the time is up."""
        changes = self.cancellation(whose, record.cancellation_id, is_patient=True)
        limit = asyncio.timeout(None if timeout is None else timeout.total_seconds())
        try:
            async with limit, aclosing(changes):
                async for record in changes:
                    on_change(record)
        except TimeoutError:
            if not limit.expired():
                raise
        return record

    def everything(self, whose: Whose, *, after: str | None = None) -> AsyncGenerator[Event[Any]]:
        """Yield the statistics of a tenant, and its stop records as they change."""
        wanted = [("statistics", None), ("movements", None)]
        return self._events(_tenant(whose), wanted, after)

    def pulse(self, whose: Whose, *, after: str | None = None) -> AsyncGenerator[Event[Any]]:
        """Yield totals of the jobs that have not ended, and the stop records as they change."""
        wanted = [("totals", None), ("movements", None)]
        return self._events(_tenant(whose), wanted, after)

    def job_and_stops(
        self, whose: Whose, job: int, *, after: str | None = None
    ) -> AsyncGenerator[Event[Any]]:
        """Yield a job, also after its end, and all stop records of its tenant, as they change."""
        wanted = [("life", job), ("movements", None)]
        return self._events(_tenant(whose), wanted, after)

    @asynccontextmanager
    async def ends(self, whose: Whose) -> AsyncIterator["ClosedRecords"]:
        """Yield every record that is closed within the block, each once."""
        with self._opened.watching(_tenant(whose), [("movements", None)]) as subscriber:
            await subscriber.poll_again()
            subscriber.take()
            yield ClosedRecords(subscriber)

    async def _events(
        self,
        tenant: Tenant,
        wanted: Sequence[tuple[str, Any]],
        after: str | None,
        is_patient: bool = False,
    ) -> AsyncGenerator[Event[Any]]:
        with self._opened.watching(tenant, wanted, is_patient) as subscriber:
            while events := await subscriber.news():
                for event in events:
                    if event.id != after:
                        yield event
                after = None

    @property
    def _opened(self) -> Hub:
        if self._hub is None:
            raise InputRefused(
                "not open yet: use `async with Subscription(client) as subscription`"
            )
        return self._hub

    async def __aenter__(self) -> Self:
        self._hub = Hub.of(self._client)
        self._hub.enter(self._listen)
        return self

    async def __aexit__(self, *_: object) -> None:
        hub, self._hub = self._opened, None
        await hub.leave()


class ClosedRecords:
    """An async iterator of records as they are closed."""

    def __init__(self, subscriber: Subscriber) -> None:
        self._subscriber = subscriber
        self._ready: list[CancellationRecord] = []

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> CancellationRecord:
        while not self._ready:
            events = await self._subscriber.news()
            if not events:
                raise StopAsyncIteration
            self._ready += [event.value for event in events if event.is_last]
        return self._ready.pop(0)

    async def finish(self) -> None:
        """End the iterator after the records that are closed by now."""
        await self._subscriber.poll_again()
        self._subscriber.end()


def _tenant(whose: Whose) -> Tenant:
    return whose.principal.tenant if isinstance(whose, AuthorizedClient) else as_tenant(whose)
