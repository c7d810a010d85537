"""How far stops have come, on its way to their records while their jobs still run.

The ending of a job brings all of its moments along. So only what lasts is written before: a stop
that takes milliseconds costs no call, and a tree of a thousand jobs costs one now and then.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

from tenure.errors import TenureError
from tenure.runtime.keeper.run import Run
from tenure.store.calls import control_calls

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

_log = logging.getLogger("tenure.worker")

_PAUSE = 0.2  # seconds from a moment to the call that records it


class Rungs:
    """Records the moments at which stops were delivered and rungs reached."""

    def __init__(self, keeper: "Keeper") -> None:
        self._keeper = keeper
        self._unwritten: dict[tuple[str, str], set[Run]] = {}  # by tenant and record

    def note(self, run: Run, name: str, record: str) -> None:
        """Keep this moment of a run, and record it soon if the run goes on."""
        run.reached[name] = self._keeper.clock.now().isoformat(timespec="milliseconds")
        place = (run.tenant, record)
        if place not in self._unwritten:
            self._unwritten[place] = set()
            self._keeper.start(self._write_soon(*place))
        self._unwritten[place].add(run)

    async def _write_soon(self, tenant: str, record: str) -> None:
        await asyncio.sleep(_PAUSE)
        runs = self._unwritten.pop((tenant, record))
        reached = {run.job.id: run.reached for run in runs if not run.has_ended}
        if not reached:
            return
        try:
            await self._keeper.store(tenant).send(
                control_calls.note_reached(self._keeper.id, record, reached)
            )
        except TenureError as problem:
            _log.debug("the moments of %s are not recorded yet: %s", record, problem)
