"""In which tenants something has happened: one question about all of them, however many there are.

Whatever a worker should look at draws a number from its tenant's counter. Notices are faster, but a
notice may be lost, and a counter is not. It moves before the commit, though: who looks at once may
see nothing yet. So a tenant that has moved is looked at again until it has stood still while every
transaction that was under way came to its end.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from tenure.errors import TenureError
from tenure.store.results import TenantActivity

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

_log = logging.getLogger("tenure.worker")

_AT_LEAST = 0.05  # seconds between two looks, however much there is to hear


@dataclass
class Stir:
    number: int
    until: int | None = None  # the transaction at which all that moved it is over
    still: bool = False


class Stirs:
    """``moves`` counts for each tenant how often there was something new to see."""

    def __init__(self, keeper: "Keeper") -> None:
        self._keeper = keeper
        self._seen: dict[str, Stir] = {}
        self._turns = Turns(keeper.exchanges)
        self._wake = asyncio.Event()
        self.moves: dict[str, int] = {}
        self.moved_at: dict[str, datetime] = {}

    def moved(self, tenant: str) -> None:
        self.moves[tenant] = self.moves.get(tenant, 0) + 1
        self.moved_at[tenant] = self._keeper.clock.now()

    def look_now(self) -> None:
        """Do not wait for the next time: something may have been missed."""
        self._wake.set()

    async def serve(self, notices_arrive: Callable[[], bool]) -> None:
        poll = self._keeper.settings.poll.total_seconds()
        while True:
            self._wake.clear()
            try:
                await self.run_once()
            except TenureError as problem:
                _log.debug("%s", problem)
            await asyncio.sleep(_AT_LEAST)
            pause = 2 * poll if notices_arrive() else poll
            with suppress(TimeoutError):
                async with asyncio.timeout(pause - _AT_LEAST):
                    await self._wake.wait()

    async def run_once(self) -> None:
        """Let everybody look who should, and one more, so that nothing is missed for ever."""
        if self._keeper.tenants is None or len(self._keeper.tenants) > 1:
            await self._look_at_all()
        for name in self._turns.next():
            self._keeper.exchanges[name].look()

    async def _look_at_all(self) -> None:
        told = await self._keeper.shared.tenant_activity(self._keeper.tenants)
        there = set(told.tenants)
        while True:
            if self._keeper.tenants is None:
                self._keeper.admit(told.tenants)
            known = {*self._seen}
            for name in self.heard(told):
                if exchange := self._keeper.exchanges.get(name):
                    exchange.look()
                    if name in known:
                        self.moved(name)
            if not told.more:
                break
            told = await self._keeper.shared.tenant_activity(
                self._keeper.tenants, after=max(told.tenants)
            )
            there |= set(told.tenants)
        if self._keeper.tenants is None:
            self._keeper.dismiss({*self._keeper.exchanges} - there)

    def heard(self, told: TenantActivity) -> list[str]:
        """Those of whom not all that has happened was seen."""
        return [name for name, number in told.tenants.items() if self._is_news(name, number, told)]

    def _is_news(self, name: str, number: int, told: TenantActivity) -> bool:
        seen = self._seen.get(name)
        if seen is None or seen.number != number:
            self._seen[name] = Stir(number, still=number == 0)  # at 0 nothing has ever happened
            return number > 0
        if seen.still:
            return False
        if seen.until is None:
            # Not before the second look: who draws a number becomes a transaction a moment later.
            seen.until = told.next
        else:
            seen.still = told.open >= seen.until
        return True


class Turns:
    """A few at a time; everybody, before anybody comes again."""

    def __init__(self, everybody: Collection[str]) -> None:
        self._everybody = everybody  # as it is then; some come and go
        self._line: deque[str] = deque()

    def next(self, n: int = 1) -> list[str]:
        found: list[str] = []
        while len(found) < min(n, len(self._everybody)):
            if not self._line:
                self._line.extend(self._everybody)
            name = self._line.popleft()
            if name in self._everybody and name not in found:
                found.append(name)
        return found
