"""The hub that subscriptions of one event loop share: one listener, one poll of each thing."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping, MutableMapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from tenure.control.client import Client
from tenure.control.job_stream import OutputQuery
from tenure.control.polling import (
    Event,
    Poll,
    Reader,
    RepeatedQuery,
    Subscriber,
    event_id,
    job_event,
    record_event,
)
from tenure.control.record_changes import RecordChanges
from tenure.domain.lifecycle import ENDED
from tenure.domain.tenant import Tenant
from tenure.store.call import Call
from tenure.store.calls import queries
from tenure.store.notices import Notices
from tenure.store.results import StreamPage

CHANNEL = "tenure_events"
EVERY, EVERYTHING_EVERY = 0.25, 1.0  # seconds between two polls
MAX_POLLS = 4  # at once; other callers need connections too

Key = tuple[Tenant, str, Any]  # whose, what kind of thing, and which one


class Hub:
    """Polls while there are subscribers; listens from the first one until it is closed."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._users = 0
        self._wants_notices = False
        self._polls: dict[Key, Any] = {}  # a repeated query of each thing
        self._tasks: dict[object, asyncio.Task[None]] = {}  # of a poll, or of the listener
        self._subscribers: set[Reader] = set()
        self._slots = asyncio.Semaphore(MAX_POLLS)

    @classmethod
    def of(cls, client: Client) -> "Hub":
        """Return the hub of a client in this event loop."""
        hubs = _hubs.setdefault(asyncio.get_running_loop(), {})
        return hubs.setdefault(client, cls(client))

    def enter(self, listen: bool) -> None:
        self._users += 1
        self._wants_notices |= listen

    async def leave(self) -> None:
        """Leave the hub; the last user closes it."""
        self._users -= 1
        if self._users:
            return
        _hubs[asyncio.get_running_loop()].pop(self._client, None)
        for reader in self._subscribers:
            reader.end()
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    @contextmanager
    def watching(
        self, tenant: Tenant, wanted: Sequence[tuple[str, Any]], is_patient: bool = False
    ) -> Iterator[Subscriber]:
        """Yield a subscriber of these things."""
        polls = {(tenant, *thing): self._query((tenant, *thing)) for thing in wanted}
        subscriber = Subscriber(list(polls.values()), is_patient=is_patient)
        with self._joined(subscriber, polls):
            yield subscriber

    @asynccontextmanager
    async def reading(self, tenant: Tenant, job: int) -> AsyncIterator[tuple[OutputQuery, Reader]]:
        """Yield the query of what a job puts out, and a reader of it."""
        key = (tenant, "output", job)
        query = self._query(key)
        reader = Reader([query])
        with self._joined(reader, {key: query}):
            yield query, reader

    @contextmanager
    def _joined(self, reader: Reader, queries: Mapping[Key, RepeatedQuery[Any]]) -> Iterator[None]:
        for query in queries.values():
            query.join(reader)
        self._subscribers.add(reader)
        try:
            yield
        finally:
            self._subscribers.discard(reader)
            for key, query in queries.items():
                query.leave(reader)
                if not query.subscribers:
                    self._drop(key, query)

    def _query(self, key: Key) -> Any:
        if self._wants_notices and "listener" not in self._tasks:
            self._start("listener", self._listen())
        query = self._polls.get(key)
        if query is None or query.is_over:
            query = self._polls[key] = self._made(*key)
            self._start(query, query.run())
        return query

    def _drop(self, key: Key, poll: RepeatedQuery[Any]) -> None:
        if self._polls.get(key) is poll:
            del self._polls[key]
        if task := self._tasks.get(poll):
            task.cancel()

    def _start(self, owner: object, work: Any) -> None:
        task = self._tasks[owner] = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._tasks.pop(owner, None))

    def _made(self, tenant: Tenant, kind: str, which: Any) -> RepeatedQuery[Any]:
        async def send(call: Call[Any]) -> Any:
            async with self._slots:
                return await (await self._client.astore_of(tenant)).send(call)

        async def job() -> list[Event[Any]]:
            seen = await send(queries.show(which))
            return [job_event(seen, kind == "job" and seen.state in ENDED)]

        async def cancellation() -> list[Event[Any]]:
            return [record_event(await send(queries.cancellation(which)))]

        async def statistics() -> list[Event[Any]]:
            seen = await send(queries.statistics())
            return [Event("statistics", seen, event_id(seen))]

        async def totals() -> list[Event[Any]]:
            seen = await send(queries.totals(self._client.settings.stop_grace))
            return [Event("totals", seen, event_id(seen))]

        async def output(above: int | None, follow: bool) -> StreamPage:
            seen: StreamPage = await send(queries.stream(which, above, follow=follow))
            return seen

        if kind == "output":
            return OutputQuery(output, EVERY)
        ask, every = {
            "job": (job, EVERY),
            "life": (job, EVERY),  # also after its end: what has failed may be resumed
            "cancellation": (cancellation, EVERY),
            "statistics": (statistics, EVERYTHING_EVERY),
            "totals": (totals, EVERYTHING_EVERY),
            "movements": (RecordChanges(send).ask, EVERYTHING_EVERY),
        }[kind]
        return Poll(ask, every, ends=kind in ("job", "cancellation"))

    async def _listen(self) -> None:
        # In a thread: to start PostgreSQL takes seconds.
        url = await asyncio.to_thread(lambda: self._client.url)
        await Notices(url, CHANNEL, self._on_notification, self._client.settings).listen()

    def _on_notification(self, notice: str) -> None:
        """Poll at once what a notification names, or everything if it names nothing."""
        about: Any = None
        with contextlib.suppress(ValueError, RecursionError):  # anybody can send anything there
            about = json.loads(notice)
        for key, poll in self._polls.items():
            if not isinstance(about, dict) or _concerns(about, key):
                poll.wake()


def _concerns(about: Mapping[str, object], key: Key) -> bool:
    """Tell whether a notification concerns a poll; statistics are polled at their own pace."""
    tenant, kind, which = key
    if tenant.name != about.get("tenant"):
        return False
    match kind:
        case "output":
            return bool(about.get("job_id") == which)
        case _ if about.get("kind") == "output":
            return False
        case "movements":
            return True
        case "job" | "life":
            return bool(about.get("job_id") == which)
        case "cancellation":
            return bool(about.get("cancellation_id") == which)
        case _:
            return False


_hubs: MutableMapping[asyncio.AbstractEventLoop, dict[Client, Hub]] = WeakKeyDictionary()
