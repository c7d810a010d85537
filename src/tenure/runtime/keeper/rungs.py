"""Which rungs were reached, and when, on their way to the records of the stops.

One call at a time for each record, so that a tree of a thousand jobs does not make a thousand. The
ending of a job waits for it: it may close the record, and a closed one takes nothing more.
"""

import logging
from typing import TYPE_CHECKING

from tenure.domain.lifecycle import Rung
from tenure.errors import TenureError
from tenure.runtime.keeper.run import Run
from tenure.store.calls import controlling

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

_log = logging.getLogger("tenure.worker")


class Rungs:
    def __init__(self, keeper: "Keeper") -> None:
        self._keeper = keeper
        self._waiting: dict[tuple[str, str], list[Run]] = {}  # by tenant and record

    def note(self, run: Run, rung: Rung, record: str) -> None:
        run.rungs[rung.value] = self._keeper.clock.now().isoformat(timespec="milliseconds")
        run.unrecorded += 1
        place = (run.tenant, record)
        if place in self._waiting:
            self._waiting[place].append(run)
        else:
            self._waiting[place] = [run]
            self._keeper.start(self._write(*place))

    async def _write(self, tenant: str, record: str) -> None:
        place = (tenant, record)
        while runs := self._waiting[place]:
            self._waiting[place] = []
            await self._write_once(tenant, record, runs)
            for run in runs:
                run.unrecorded -= 1
                if run.has_ended:
                    self._keeper.runs.recorded(run)
        del self._waiting[place]

    async def _write_once(self, tenant: str, record: str, runs: list[Run]) -> None:
        details = {str(run): dict(run.rungs) for run in runs}
        step = controlling.step(record, "terminate_runners", "in_progress", details=details)
        try:
            await self._keeper.store(tenant).send(step)
        except TenureError as problem:
            _log.debug("%s: %s", step.verb, problem)
