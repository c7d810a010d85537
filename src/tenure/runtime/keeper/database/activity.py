"""In which tenants something has happened: one question about all of them, however many there are.

Whatever a worker should look at draws a number from its tenant's counter. Notices are faster, but a
notice may be lost, and a counter is not. It moves before the commit, though: a query right after it
may see nothing yet. So a tenant that has moved is polled again until its counter has stood still
while every transaction that was open came to its end.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Mapping, Set
from contextlib import suppress
from dataclasses import InitVar, dataclass
from datetime import datetime, timedelta

from tenure.errors import TenureError
from tenure.runtime.keeper.database.clock import DatabaseClock
from tenure.runtime.keeper.database.exchange import Exchange
from tenure.store.results import TenantActivity
from tenure.store.store import AsyncStore

_log = logging.getLogger("tenure.worker")

_SHORTEST_PAUSE = 0.05  # seconds between two polls, however often it is woken


class ActivityCounter:
    """Counts for each tenant how often something has happened, and when it last did."""

    def __init__(self, clock: DatabaseClock) -> None:
        self._clock = clock
        self.moves: dict[str, int] = {}
        self.moved_at: dict[str, datetime] = {}

    def moved(self, tenant: str) -> None:
        self.moves[tenant] = self.moves.get(tenant, 0) + 1
        self.moved_at[tenant] = self._clock.now()


@dataclass
class SeenActivity:
    number: int
    until: int | None = None  # the transaction at which all that moved it has ended
    still: bool = False


@dataclass(eq=False)
class TenantActivityWatch:
    """Polls the tenants in which something has happened, and one more in turn."""

    names: list[str] | None  # None: all there are
    shared: AsyncStore
    exchanges: Mapping[str, Exchange]
    counter: ActivityCounter
    poll: InitVar[timedelta]
    on_found: Callable[[Collection[str]], None]
    on_gone: Callable[[Set[str]], None]

    def __post_init__(self, poll: timedelta) -> None:
        self._poll = poll.total_seconds()
        self._seen: dict[str, SeenActivity] = {}
        self._turns = RoundRobin(self.exchanges)
        self._wake = asyncio.Event()

    def poll_now(self) -> None:
        """Poll before the next time: something may have been missed."""
        self._wake.set()

    async def serve(self, notices_arrive: Callable[[], bool]) -> None:
        while True:
            self._wake.clear()
            try:
                await self.run_once()
            except TenureError as problem:
                _log.debug("%s", problem)
            await asyncio.sleep(_SHORTEST_PAUSE)
            pause = 2 * self._poll if notices_arrive() else self._poll
            with suppress(TimeoutError):
                async with asyncio.timeout(pause - _SHORTEST_PAUSE):
                    await self._wake.wait()

    async def run_once(self) -> None:
        """Poll every tenant that has moved, and one more, so that nothing is missed forever."""
        if self.names is None or len(self.names) > 1:
            await self._ask_about_all()
        for name in self._turns.next():
            self.exchanges[name].poll()

    async def _ask_about_all(self) -> None:
        activity = await self.shared.tenant_activity(self.names)
        found = set(activity.tenants)
        while True:
            if self.names is None:
                self.on_found(activity.tenants)
            known = {*self._seen}
            for name in self.unsettled(activity):
                if exchange := self.exchanges.get(name):
                    exchange.poll()
                    if name in known:
                        self.counter.moved(name)
            if not activity.more:
                break
            activity = await self.shared.tenant_activity(self.names, after=max(activity.tenants))
            found |= set(activity.tenants)
        if self.names is None:
            self.on_gone({*self.exchanges} - found)

    def unsettled(self, activity: TenantActivity) -> list[str]:
        """Return the tenants in which not all that has happened was seen."""
        return [
            name
            for name, number in activity.tenants.items()
            if self._is_news(name, number, activity)
        ]

    def _is_news(self, name: str, number: int, activity: TenantActivity) -> bool:
        seen = self._seen.get(name)
        if seen is None or seen.number != number:
            # At 0 nothing has ever happened.
            self._seen[name] = SeenActivity(number, still=number == 0)
            return number > 0
        if seen.still:
            return False
        if seen.until is None:
            # Not before the second poll: a session draws its number before it has a transaction id.
            seen.until = activity.next
        else:
            seen.still = activity.open >= seen.until
        return True


class RoundRobin:
    """Returns a few names at a time: all of them, before any comes again."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names  # read each time; names come and go
        self._line: deque[str] = deque()

    def next(self, n: int = 1) -> list[str]:
        found: list[str] = []
        while len(found) < min(n, len(self._names)):
            if not self._line:
                self._line.extend(self._names)
            name = self._line.popleft()
            if name in self._names and name not in found:
                found.append(name)
        return found
