"""Removes what killed workers left on this host, so that nobody waits for their leases.

A lease has to expire where nothing else is known. On the same host more is known: a worker that
holds the lock of a dead worker's folder, and has made sure that no process of it is left, can
unregister it. Its jobs are recovered at once.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from datetime import timedelta
from uuid import UUID

from tenure.observe.counting import Counting
from tenure.runtime.keeper.services.recovery import RecoveryService
from tenure.runtime.leftovers import Reaped, reap
from tenure.store.store import AsyncStore

_log = logging.getLogger("tenure.worker")

CLEAN_UP_EVERY = timedelta(seconds=1)


@dataclass(eq=False)
class HostCleanup:
    """``found`` was left by workers that were killed before this one started."""

    database: str
    shared: AsyncStore
    recovery: RecoveryService
    counts: Counting
    found: InitVar[Sequence[Reaped]]

    def __post_init__(self, found: Sequence[Reaped]) -> None:
        self._gone = _workers(found)  # are to be unregistered

    async def run_once(self) -> None:
        found = await asyncio.to_thread(reap, of=self.database)
        log_reaped(found)
        self.counts.reaped(sum(len(reaped.processes.killed) for reaped in found))
        self._gone += _workers(found)
        if not self._gone:
            return
        while self._gone:
            await self.shared.leave(self._gone[-1], killed=True)
            worker = self._gone.pop()
            _log.warning("worker %s was killed on this host, and nothing of it is left", worker)
        await self.recovery.run_once()


def _workers(found: Sequence[Reaped]) -> list[UUID]:
    """Return the workers of which nothing is left."""
    return [reaped.worker for reaped in found if reaped.worker is not None]


def log_reaped(found: Sequence[Reaped]) -> None:
    for reaped in found:
        _log.warning(
            "a worker that was killed on this host left %d processes and files in %s: removed",
            len(reaped.processes.killed),
            reaped.folder,
        )
