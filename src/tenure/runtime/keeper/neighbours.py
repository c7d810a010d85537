"""Workers of this host that were killed: what is left of them is removed, and nobody waits.

A lease has to run out where nothing else is known. Here more is known: whoever holds the lock of a
dead worker's folder, and has seen to it that no process of it is left, can say goodbye for it. What
it held is recovered at once.
"""

import asyncio
import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from tenure.runtime.keeper.services import Recovery
from tenure.runtime.leftovers import Reaped, reap

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

_log = logging.getLogger("tenure.worker")

LOOK_EVERY = timedelta(seconds=1)


class Neighbours:
    """``found`` are those that were met before this worker was one itself."""

    def __init__(self, keeper: "Keeper", recovery: Recovery, found: Sequence[Reaped]) -> None:
        self._keeper = keeper
        self._recovery = recovery
        self._gone = _workers(found)  # for whom goodbye is to be said

    async def run_once(self) -> None:
        found = await asyncio.to_thread(reap, of=self._keeper.database)
        say_reaped(found)
        self._keeper.counts.reaped(sum(len(one.processes.killed) for one in found))
        self._gone += _workers(found)
        if not self._gone:
            return
        while self._gone:
            await self._keeper.shared.leave(self._gone[-1], killed=True)
            worker = self._gone.pop()
            _log.warning("worker %s was killed on this host, and nothing of it is left", worker)
        await self._recovery.run_once()


def _workers(found: Sequence[Reaped]) -> list[UUID]:
    """Those of whom nothing is left."""
    return [one.worker for one in found if one.worker is not None]


def say_reaped(found: Sequence[Reaped]) -> None:
    for one in found:
        _log.warning(
            "a worker that was killed on this host left %d processes and files in %s: removed",
            len(one.processes.killed),
            one.folder,
        )
