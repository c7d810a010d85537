"""The progress of stops, on its way to their records while their jobs still run.

The ending of a job brings all of its timestamps along. So only what lasts is written before: a stop
that takes milliseconds costs no call, and a tree of a thousand jobs costs one now and then.
"""

import asyncio
import logging
from dataclasses import dataclass
from uuid import UUID

from tenure.domain.lifecycle import Rung
from tenure.errors import TenureError
from tenure.observe.counting import Counting
from tenure.runtime.keeper.background_tasks import BackgroundTasks
from tenure.runtime.keeper.database.access import DatabaseAccess
from tenure.runtime.keeper.database.clock import DatabaseClock
from tenure.runtime.keeper.runs.run import Run
from tenure.store.calls import control_calls

_log = logging.getLogger("tenure.worker")

_PAUSE = 0.2  # seconds from a timestamp to the call that records it


@dataclass(eq=False)
class StopProgress:
    """Records when stops were delivered and rungs reached."""

    worker: UUID
    database: DatabaseAccess
    clock: DatabaseClock
    counts: Counting
    tasks: BackgroundTasks

    def __post_init__(self) -> None:
        self._unwritten: dict[tuple[str, str], set[Run]] = {}  # by tenant and record

    def reached(self, run: Run, rung: Rung) -> None:
        """Put a rung on the record, with its timestamp."""
        _log.info("job %d is %s", run.job.id, rung.value, extra=run.about)
        self.counts.reached(rung.value, run.cause or "stop")
        if run.span is not None:
            run.span.happened(rung.value)
        self.note(run, rung.value)

    def note(self, run: Run, name: str) -> None:
        """Put a step of the stop of a run on its record, if the stop has one."""
        if run.orders is not None and run.orders.cancellation_id is not None:
            self.write(run, name, run.orders.cancellation_id)

    def write(self, run: Run, name: str, record: str) -> None:
        """Keep the time of a step, and record it soon if the run continues."""
        run.reached[name] = self.clock.now().isoformat(timespec="milliseconds")
        place = (run.tenant, record)
        if place not in self._unwritten:
            self._unwritten[place] = set()
            self.tasks.start(self._write_soon(*place))
        self._unwritten[place].add(run)

    async def _write_soon(self, tenant: str, record: str) -> None:
        await asyncio.sleep(_PAUSE)
        runs = self._unwritten.pop((tenant, record))
        reached = {run.job.id: run.reached for run in runs if not run.has_ended}
        if not reached:
            return
        try:
            await self.database.store(tenant).send(
                control_calls.note_reached(self.worker, record, reached)
            )
        except TenureError as problem:
            _log.debug("the progress of %s is not recorded yet: %s", record, problem)
