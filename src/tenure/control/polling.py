"""Polls of jobs, records and statistics, each shared by all subscribers.

A poll keeps the newest state only: a slow subscriber misses what lay between, and delays nobody.
"""

import asyncio
import hashlib
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import msgspec

from tenure.domain.cancellation import CancellationRecord
from tenure.domain.job import Job
from tenure.errors import StoreUnavailable
from tenure.store.results import Statistics
from tenure.store.totals import Totals

A = TypeVar("A")
V = TypeVar("V", covariant=True)

FIRST_PAUSE = 0.02  # seconds between the first two polls; longer each time
WOKEN_TOGETHER = 50  # subscribers
BREATH = 0.05  # seconds from one poll to the next, however many notifications come
EASE = 4  # the pause after a poll is at least this many times its duration


@dataclass(frozen=True)
class Event(Generic[V]):
    """A state that a subscriber has not received yet."""

    kind: Literal["job", "cancellation", "statistics", "totals"]
    value: V
    id: str  # the same as long as nothing has changed
    is_last: bool = False  # no event of this thing follows

    @property
    def key(self) -> str:
        """Return the id of a record, or the kind of another event."""
        value = self.value
        return value.cancellation_id if isinstance(value, CancellationRecord) else self.kind


def job_event(job: Job, is_last: bool) -> Event[Job]:
    return Event("job", job, event_id(job), is_last)


def record_event(record: CancellationRecord) -> Event[CancellationRecord]:
    return Event("cancellation", record, event_id(record), record.completed_at is not None)


def event_id(value: Job | CancellationRecord | Statistics | Totals) -> str:
    """Return the same id for the same state in every process; ages and heartbeats do not count."""
    fields = msgspec.to_builtins(value)
    passing: tuple[str, ...] = ()
    match value:
        case Job():
            passing = ("heartbeat_at", "last_heartbeat_at", "lease_expires_at")
        case CancellationRecord():
            passing = ("duration_seconds", "again")
        case Statistics():
            fields["queues"] = {
                name: {**queue, "oldest_seconds": None} for name, queue in fields["queues"].items()
            }
        case Totals():
            fields["jobs"] = [{**jobs, "oldest_seconds": None} for jobs in fields["jobs"]]
    kept = {name: fields[name] for name in fields if name not in passing}
    return hashlib.sha256(msgspec.json.encode(kept, order="deterministic")).hexdigest()[:16]


@dataclass(frozen=True)
class Cursor:
    """The position of a subscriber in the events of a poll."""

    after: int  # the newest event that it has received, or that was there when it joined
    is_new: bool = False  # it has received nothing yet


class RepeatedQuery(ABC, Generic[A]):
    """The repeated query of one thing, for all its subscribers."""

    breath = BREATH
    is_notified = False  # of every change: after one, the next is not looked for sooner

    def __init__(self, every: float) -> None:
        self._every = every
        self._woken = asyncio.Event()
        self._problem: Exception | None = None
        self.subscribers: set[Reader] = set()
        self.asked = 0
        self.answered = 0  # the last question that had an answer
        self.is_over = False

    @abstractmethod
    async def _ask(self) -> A: ...

    @abstractmethod
    def _keep(self, answer: A) -> bool:
        """Keep an answer; return false if no subscriber need be woken for it."""

    async def run(self) -> None:
        """Poll until nothing more can change."""
        pause = FIRST_PAUSE
        while not self.is_over:
            self._woken.clear()
            begun = time.monotonic()
            has_news = await self._poll()
            took = time.monotonic() - begun
            if has_news:
                await self._wake_subscribers()
            try:
                # An expensive query runs less often.
                async with asyncio.timeout(0 if self.is_over else max(pause, took * EASE)):
                    await self._woken.wait()
            except TimeoutError:
                pause = min(pause * 2, self._every)
            else:
                # What has just changed may change again soon.
                pause = self._every if self.is_notified else FIRST_PAUSE
                await asyncio.sleep(max(begun + max(self.breath, took * 2) - time.monotonic(), 0))

    async def _wake_subscribers(self) -> None:
        """Wake some, let them run, and wake the next.

        If all were woken at once, the objects of their scheduled tasks would make the garbage
        collector run in each round, and no other work of the loop would come between them.
        """
        for number, subscriber in enumerate(tuple(self.subscribers), 1):
            subscriber.wake()
            if number % WOKEN_TOGETHER == 0:
                await asyncio.sleep(0)

    async def _poll(self) -> bool:
        self.asked += 1
        try:
            answer = await self._ask()
        except StoreUnavailable as problem:
            self._problem = problem
            return True
        except Exception as problem:  # noqa: BLE001  every subscriber gets it
            self._problem = problem
            self.is_over = True
            return True
        was_away, self._problem = self._problem is not None, None
        self.answered = self.asked
        return self._keep(answer) or was_away or self.answered == 1

    def wake(self) -> None:
        """Poll now: something may have changed."""
        self._woken.set()

    def join(self, subscriber: "Reader") -> None:
        self.subscribers.add(subscriber)

    def leave(self, subscriber: "Reader") -> None:
        self.subscribers.discard(subscriber)

    def problem(self, is_patient: bool) -> Exception | None:
        """Return the error to raise; an outage after the first answer is waited out."""
        if isinstance(self._problem, StoreUnavailable) and (is_patient or self.answered):
            return None
        return self._problem


class Poll(RepeatedQuery[Sequence[Event[Any]]]):
    """A query of states, of which the newest count."""

    def __init__(
        self, ask: Callable[[], Awaitable[Sequence[Event[Any]]]], every: float, *, ends: bool
    ) -> None:
        super().__init__(every)
        self._query = ask
        self._ends = ends  # with the last event; else it never ends
        self._latest: dict[str, tuple[int, Event[Any]]] = {}
        self._number = 0  # of the newest event
        self._cursors: dict[Reader, Cursor] = {}

    async def _ask(self) -> Sequence[Event[Any]]:
        return await self._query()

    def _keep(self, answer: Sequence[Event[Any]]) -> bool:
        for event in answer:
            _, known = self._latest.get(event.key, (0, None))
            if known is None or known.id != event.id:
                self._number += 1
                self._latest[event.key] = (self._number, event)
            self.is_over = self._ends and event.is_last
        return True

    def join(self, subscriber: "Reader") -> None:
        super().join(subscriber)
        self._cursors[subscriber] = Cursor(self._number, is_new=True)

    def leave(self, subscriber: "Reader") -> None:
        super().leave(subscriber)
        self._cursors.pop(subscriber, None)
        self._forget()

    def take(self, subscriber: "Subscriber") -> list[Event[Any]]:
        """Return the events it has not received yet, oldest first."""
        cursor = self._cursors[subscriber]
        self._cursors[subscriber] = Cursor(self._number)
        events = [
            event
            for number, event in sorted(self._latest.values(), key=lambda known: known[0])
            # A new subscriber has no use for what ended before it joined.
            if number > cursor.after or (cursor.is_new and (self._ends or not event.is_last))
        ]
        self._forget()
        return events

    def _forget(self) -> None:
        """Drop the ends that all subscribers have received."""
        if not self._ends:
            cursors = self._cursors.values()
            seen = min((cursor.after for cursor in cursors), default=self._number)
            over = [key for key, (n, event) in self._latest.items() if event.is_last and n <= seen]
            for key in over:
                del self._latest[key]


class Reader:
    """Waits for the answers of some queries."""

    def __init__(self, polls: Sequence[RepeatedQuery[Any]], *, is_patient: bool = False) -> None:
        self._queries = polls
        self._is_patient = is_patient  # also with a database that is away from the start
        self._is_answered = False
        self._is_over = False
        self._is_woken = False
        self._waiting: set[asyncio.Future[None]] = set()

    def wake(self) -> None:
        self._is_woken = True
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    def end(self) -> None:
        """End the waiting."""
        self._is_over = True
        self.wake()

    async def is_ready(self) -> bool:
        """Wait until each query has been answered; return false if the waiting was ended."""
        while not self._is_over:
            self._raise_problem()
            if self._is_answered or all(query.answered or query.is_over for query in self._queries):
                self._is_answered = True
                return True
            await self.wait()
        return False

    async def wait(self) -> None:
        """Wait until something may have changed.

        An ``asyncio.Event`` would take twice the time, which a thousand readers notice.
        """
        if not self._is_woken:
            woken = asyncio.get_running_loop().create_future()
            self._waiting.add(woken)
            try:
                await woken
            finally:
                self._waiting.discard(woken)
        self._is_woken = False

    def _raise_problem(self) -> None:
        for query in self._queries:
            if problem := query.problem(self._is_patient):
                raise problem


class Subscriber(Reader):
    """A subscriber of some polls, and what it has received."""

    def __init__(self, polls: Sequence[Poll], *, is_patient: bool = False) -> None:
        super().__init__(polls, is_patient=is_patient)
        self.polls = polls

    async def poll_again(self) -> None:
        """Wait for the answer to a query that begins from now on."""
        for poll in self.polls:
            wanted = poll.asked + 1
            poll.wake()
            while poll.answered < wanted and not self._is_over:
                self._raise_problem()
                await self.wait()

    def take(self) -> list[Event[Any]]:
        """Return the events it has not received yet."""
        return [event for poll in self.polls for event in poll.take(self)]

    async def news(self) -> list[Event[Any]]:
        """Wait for events and return them; an empty list is the end.

        Nothing is returned before each poll has had its first answer: that of a poll for changes
        is where the changes begin, and those before it would be missed.
        """
        while True:
            is_ready = all(poll.answered or poll.is_over for poll in self.polls)
            if is_ready and (events := self.take()):
                return events
            self._raise_problem()
            if self._is_over or all(poll.is_over for poll in self.polls):
                return []
            await self.wait()
