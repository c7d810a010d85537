"""Subscriptions to jobs, cancellations and statistics as they change.

A notification makes the next poll come sooner; without notifications the polls continue.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.client import Client, as_tenant
from tenure.control.hub import Hub
from tenure.control.job_operations import job_with_key
from tenure.control.polling import Event, Subscriber
from tenure.domain.cancellation import CancellationRecord
from tenure.domain.job import Job
from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused

Whose = AuthorizedClient | Tenant | str


class Subscription:
    """Watch what changes: ``async with Subscription(client) as watching:``.

    Each iterator gives what there is now, then only changes, and ends with what it watches. Whoever
    is slow is given the newest state. A database that goes away is waited for. All who watch in one
    event loop share one listener and one look at each thing.

    ``after`` is the ``event_id`` of what was seen last: if nothing has changed since, it is not
    given again.
    """

    def __init__(self, client: Client, *, listen: bool = True) -> None:
        self._client = client
        self._listen = listen  # else there are notices only if somebody else wants them
        self._hub: Hub | None = None

    async def job(
        self, whose: Whose, job: int | str, *, after: str | None = None
    ) -> AsyncGenerator[Job]:
        """A job by its id or key, until it is completed, failed or cancelled."""
        tenant = _tenant(whose)
        if isinstance(job, str):
            job = await self._client.aperform(job_with_key(job), tenant)
        async with aclosing(self._events(tenant, [("job", job)], after)) as events:
            async for event in events:
                yield event.value

    async def cancellation(
        self,
        whose: Whose,
        cancellation_id: str,
        *,
        after: str | None = None,
        is_patient: bool = False,
    ) -> AsyncGenerator[CancellationRecord]:
        """A record, until it is closed; who is patient waits for a database that is away now."""
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

    async def everything(
        self, whose: Whose, *, after: str | None = None
    ) -> AsyncGenerator[Event[Any]]:
        """The statistics of a tenant, and its cancellations that begin, move and end."""
        wanted = [("statistics", None), ("movements", None)]
        async with aclosing(self._events(_tenant(whose), wanted, after)) as events:
            async for event in events:
                yield event

    async def pulse(self, whose: Whose, *, after: str | None = None) -> AsyncGenerator[Event[Any]]:
        """What is alive of a tenant, and its stops; ended jobs cost nothing."""
        wanted = [("totals", None), ("movements", None)]
        async with aclosing(self._events(_tenant(whose), wanted, after)) as events:
            async for event in events:
                yield event

    async def job_and_stops(
        self, whose: Whose, job: int, *, after: str | None = None
    ) -> AsyncGenerator[Event[Any]]:
        """A job, and all stops of its tenant, as they move; also after its end: it may go on."""
        wanted = [("life", job), ("movements", None)]
        async with aclosing(self._events(_tenant(whose), wanted, after)) as events:
            async for event in events:
                yield event

    @asynccontextmanager
    async def ends(self, whose: Whose) -> AsyncIterator["Ends"]:
        """Every record that ends from the beginning of the block on, each once."""
        with self._opened.watching(_tenant(whose), [("movements", None)]) as watcher:
            await watcher.look_afresh()
            watcher.take()
            yield Ends(watcher)

    async def _events(
        self,
        tenant: Tenant,
        wanted: Sequence[tuple[str, Any]],
        after: str | None,
        is_patient: bool = False,
    ) -> AsyncGenerator[Event[Any]]:
        with self._opened.watching(tenant, wanted, is_patient) as watcher:
            while events := await watcher.news():
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

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        hub, self._hub = self._opened, None
        await hub.leave()


class Ends:
    """The records that end, as an async iterator."""

    def __init__(self, watcher: Subscriber) -> None:
        self._watcher = watcher
        self._ready: list[CancellationRecord] = []

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> CancellationRecord:
        while not self._ready:
            events = await self._watcher.news()
            if not events:
                raise StopAsyncIteration
            self._ready += [event.value for event in events if event.is_last]
        return self._ready.pop(0)

    async def finish(self) -> None:
        """Nothing but what has ended by now is given any more."""
        await self._watcher.look_afresh()
        self._watcher.end()


def _tenant(whose: Whose) -> Tenant:
    return whose.principal.tenant if isinstance(whose, AuthorizedClient) else as_tenant(whose)
