"""Looking at one thing again and again, for all who watch it.

A look keeps the newest state alone: whoever is slow to take it misses what lay between, delays
nobody, and costs nothing.
"""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import msgspec

from tenure.domain.cancellation import CancellationRecord
from tenure.domain.job import Job
from tenure.errors import StoreUnavailable
from tenure.store.results import Statistics
from tenure.store.totals import Totals

T = TypeVar("T")
V = TypeVar("V", covariant=True)

FIRST_PAUSE = 0.02  # seconds between the first two looks; longer each time
BREATH = 0.05  # seconds between two looks, however many notices come
EASE = 4  # times as long as a look took is the least pause after it


@dataclass(frozen=True)
class Event(Generic[V]):
    """A state that somebody who watches has not seen yet."""

    kind: Literal["job", "cancellation", "statistics", "totals"]
    value: V
    id: str  # the same as long as nothing has changed
    is_last: bool = False  # nothing more is to come of this one

    @property
    def key(self) -> str:
        value = self.value
        return value.cancellation_id if isinstance(value, CancellationRecord) else self.kind


def job_event(job: Job, is_last: bool) -> Event[Job]:
    return Event("job", job, event_id(job), is_last)


def record_event(record: CancellationRecord) -> Event[CancellationRecord]:
    return Event("cancellation", record, event_id(record), record.completed_at is not None)


def statistics_event(statistics: Statistics) -> Event[Statistics]:
    return Event("statistics", statistics, event_id(statistics))


def totals_event(totals: Totals) -> Event[Totals]:
    return Event("totals", totals, event_id(totals))


def event_id(value: Job | CancellationRecord | Statistics | Totals) -> str:
    """The same text for the same state, in every process; what only time moves does not count."""
    told = msgspec.to_builtins(value)
    passing: tuple[str, ...] = ()
    match value:
        case Job():
            passing = ("heartbeat_at", "last_heartbeat_at", "lease_expires_at")
        case CancellationRecord():
            passing = ("duration_seconds", "again")
        case Statistics():
            told["queues"] = {
                name: {**queue, "oldest_seconds": None} for name, queue in told["queues"].items()
            }
        case Totals():
            told["jobs"] = [{**jobs, "oldest_seconds": None} for jobs in told["jobs"]]
    kept = {name: told[name] for name in told if name not in passing}
    return hashlib.sha256(msgspec.json.encode(kept, order="deterministic")).hexdigest()[:16]


class Poll:
    """One thing that is looked at, however many watch it."""

    def __init__(
        self, ask: Callable[[], Awaitable[Sequence[Event[Any]]]], every: float, *, ends: bool
    ) -> None:
        self._ask = ask
        self._every = every
        self._ends = ends  # with the last event; else there is always another thing to see
        self._woken = asyncio.Event()
        self._latest: dict[str, tuple[int, Event[Any]]] = {}
        self._number = 0  # of the newest event
        self._problem: Exception | None = None
        self.watchers: dict[Subscriber, int | None] = {}  # and the newest event each has taken
        self.asked = 0
        self.answered = 0  # the last question that had an answer
        self.is_over = False

    async def run(self) -> None:
        """Until nothing more can be seen."""
        pause = FIRST_PAUSE
        while not self.is_over:
            self._woken.clear()
            begun = time.monotonic()
            await self._look()
            took = time.monotonic() - begun
            for watcher in self.watchers:
                watcher.wake()
            try:
                # What costs the database much is looked at less often.
                async with asyncio.timeout(0 if self.is_over else max(pause, took * EASE)):
                    await self._woken.wait()
            except TimeoutError:
                pause = min(pause * 2, self._every)
            else:
                await asyncio.sleep(BREATH)

    async def _look(self) -> None:
        self.asked += 1
        try:
            events = await self._ask()
        except StoreUnavailable as problem:
            self._problem = problem
            return
        except Exception as problem:  # noqa: BLE001  each of those who watch is told
            self._problem = problem
            self.is_over = True
            return
        self._problem = None
        self.answered = self.asked
        for event in events:
            _, known = self._latest.get(event.key, (0, None))
            if known is None or known.id != event.id:
                self._number += 1
                self._latest[event.key] = (self._number, event)
            self.is_over = self._ends and event.is_last

    def wake(self) -> None:
        """Look now: something may have happened."""
        self._woken.set()

    def join(self, watcher: "Subscriber") -> None:
        self.watchers[watcher] = None

    def leave(self, watcher: "Subscriber") -> None:
        self.watchers.pop(watcher, None)
        self._forget()

    def problem(self, is_patient: bool) -> Exception | None:
        """Why it cannot go on; a database that goes away is waited for."""
        if isinstance(self._problem, StoreUnavailable) and (is_patient or self.answered):
            return None
        return self._problem

    def take(self, watcher: "Subscriber") -> list[Event[Any]]:
        """What it has not seen yet, oldest first."""
        seen = self.watchers[watcher]
        self.watchers[watcher] = self._number
        events = [
            event
            for number, event in sorted(self._latest.values(), key=lambda known: known[0])
            # Who comes later has no use for the end of what it never saw begin.
            if (number > seen if seen is not None else self._ends or not event.is_last)
        ]
        self._forget()
        return events

    def _forget(self) -> None:
        """The ends that all have seen."""
        if not self._ends:
            seen = min((number or 0 for number in self.watchers.values()), default=self._number)
            over = [key for key, (n, event) in self._latest.items() if event.is_last and n <= seen]
            for key in over:
                del self._latest[key]


class Subscriber:
    """One who watches some looks, and where it stands."""

    def __init__(self, looks: Sequence[Poll], *, is_patient: bool = False) -> None:
        self.looks = looks
        self._is_patient = is_patient  # with a database that is away from the start
        self._woken = asyncio.Event()
        self._is_over = False

    def wake(self) -> None:
        self._woken.set()

    def end(self) -> None:
        """There will be nothing more to see."""
        self._is_over = True
        self.wake()

    async def look_afresh(self) -> None:
        """Wait for the answer to a question that was not yet asked."""
        for look in self.looks:
            wanted = look.asked + 1
            look.wake()
            while look.answered < wanted and not self._is_over:
                self._raise_problem()
                await self._wait()

    def take(self) -> list[Event[Any]]:
        """What it has not seen yet."""
        return [event for look in self.looks for event in look.take(self)]

    async def news(self) -> list[Event[Any]]:
        """What it has not seen yet, once there is something; nothing: it is over."""
        while True:
            events = self.take()
            if events:
                return events
            self._raise_problem()
            if self._is_over or all(look.is_over for look in self.looks):
                return []
            await self._wait()

    async def _wait(self) -> None:
        await self._woken.wait()
        self._woken.clear()

    def _raise_problem(self) -> None:
        for look in self.looks:
            if problem := look.problem(self._is_patient):
                raise problem
