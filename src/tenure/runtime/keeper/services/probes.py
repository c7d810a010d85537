"""The answers of a worker to probes.

The event loop leaves stamps, and another thread reads them: so a loop that hangs is seen, too. An
outage of the database is no reason to restart a worker, whose jobs continue after it; a worker that
does not exchange jobs with a database that renews its lease is.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass

from tenure.config import Settings
from tenure.observe.counting import Counting
from tenure.runtime.keeper.database.access import DatabaseAccess
from tenure.runtime.keeper.database.dispatcher import ExchangeDispatcher
from tenure.runtime.keeper.database.exchange import Exchange
from tenure.runtime.keeper.database.lease import Lease

_CHECK_EVERY = 1.0


@dataclass(eq=False, kw_only=True)
class Probes:
    settings: InitVar[Settings]
    lease: Lease
    database: DatabaseAccess
    dispatcher: ExchangeDispatcher
    exchanges: Mapping[str, Exchange]
    is_draining: Callable[[], bool]
    counts: Counting

    def __post_init__(self, settings: Settings) -> None:
        # A call may take a lease; without work there is one for each poll.
        self._patience = 2 * (settings.lease + settings.poll).total_seconds()
        self._turned_at = self._moved_at = time.monotonic()
        self._served = 0

    async def serve(self) -> None:
        self.counts.probed_as(self)
        try:
            while True:
                self._check()
                await asyncio.sleep(_CHECK_EVERY)
        finally:
            self.counts.probed_as(None)

    def _check(self) -> None:
        self._turned_at = time.monotonic()
        has_moved = self._served != self.dispatcher.served
        is_due = any(exchange.is_ready for exchange in self.exchanges.values())
        if has_moved or not is_due:
            self._served, self._moved_at = self.dispatcher.served, self._turned_at

    def why_not_live(self) -> str:
        now = time.monotonic()
        if (silent := now - self._turned_at) > self._patience:
            return f"the event loop of the keeper has not turned for {silent:.0f} s"
        if (stalled := now - self._moved_at) > self._patience:
            return f"claims are due, and none was sent for {stalled:.0f} s"
        return ""

    def why_not_ready(self) -> str:
        if problem := self.why_not_live():
            return problem
        if self.is_draining():
            return "the worker is draining"
        if not self.lease.is_trusted:
            return "the lease was not renewed: the database does not answer"
        unanswered = time.monotonic() - self.database.answered_at
        if self.exchanges and unanswered > self._patience:
            return f"the database has answered no claim for {unanswered:.0f} s"
        return ""
