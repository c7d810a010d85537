"""What running jobs say, on its way into the database: one call at a time, the rest waits its turn.

What is said while a call is under way goes into the next one, so a hundred jobs that report
progress cost one call. An ending waits until what its job said before is recorded.
"""

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from tenure.errors import StoreUnavailable, TenureError
from tenure.runtime.keeper.backoff import Backoff
from tenure.runtime.keeper.run import Run
from tenure.runtime.messages import Said
from tenure.store.calls import working
from tenure.store.line import Line
from tenure.store.outcomes import Artifact, LogLine, Report
from tenure.store.results import Reported

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

_BATCH = 200
_BUSY_PAUSE = 0.02


class Pending:
    """What one run has said since the last report."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.progress: Any = None
        self.checkpoint: bytes = b""
        self.partials: list[bytes] = []
        self.spent: dict[str, float] = {}
        self.logs: list[LogLine] = []
        self.artifacts: list[Artifact] = []
        self.take: list[str] = []
        self.give: list[str] = []
        self.forget_artifacts = False
        self.flushes: list[asyncio.Future[None]] = []

    def add(self, said: Said) -> None:
        self.progress = said.progress or self.progress
        self.checkpoint = said.checkpoint or self.checkpoint
        self.partials += said.partials
        for unit, amount in (said.spent or {}).items():
            self.spent[unit] = self.spent.get(unit, 0) + amount
        self.logs += [LogLine(line, level) for level, line in said.logs]
        self.artifacts += [Artifact(*artifact) for artifact in said.artifacts]
        self.give += said.give
        self.forget_artifacts = self.forget_artifacts or said.forget_artifacts

    @property
    def report(self) -> Report:
        return Report(
            job=self.run.job.id,
            token=self.run.job.token,
            progress=self.progress,
            checkpoint=msgspec.Raw(self.checkpoint) if self.checkpoint else None,
            partials=[msgspec.Raw(partial) for partial in self.partials],
            spent=self.spent or None,
            logs=self.logs,
            artifacts=self.artifacts,
            take=self.take,
            give=self.give,
            forget_artifacts=self.forget_artifacts,
        )


class Reports:
    def __init__(self, keeper: "Keeper", tenant: str) -> None:
        self._keeper = keeper
        self._tenant = tenant
        self._pending: dict[int, Pending] = {}
        self._something = asyncio.Event()
        self._backoff = Backoff()
        self._slots: dict[tuple[int, str], asyncio.Future[str | None]] = {}
        self.in_flight = False

    def add(self, run: Run, said: Said) -> None:
        self._of(run).add(said)

    def flushed(self, run: Run) -> "asyncio.Future[None]":
        """Done when all that this run has said so far is recorded."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._of(run).flushes.append(waiting)
        return waiting

    def take_slot(self, run: Run, pool: str) -> "asyncio.Future[str | None]":
        """The slot's name, or nothing when there is none free."""
        waiting = self._slots[run.number, pool] = asyncio.get_running_loop().create_future()
        self._of(run).take.append(pool)
        return waiting

    @property
    def is_quiet(self) -> bool:
        return not self._pending and not self.in_flight

    def _of(self, run: Run) -> Pending:
        if run.number not in self._pending:
            self._pending[run.number] = Pending(run)
            run.unrecorded += 1
            self._something.set()
        return self._pending[run.number]

    async def serve(self, line: Line) -> None:
        while True:
            await self._something.wait()
            batch = [self._pending.pop(number) for number in list(self._pending)[:_BATCH]]
            if not self._pending:
                self._something.clear()
            if batch:
                self.in_flight = True
                try:
                    await self._send(line, batch)
                finally:
                    self.in_flight = False

    async def _send(self, line: Line, batch: list[Pending]) -> None:
        while batch:
            try:
                answer = await line.send(
                    working.report(self._keeper.id, [pending.report for pending in batch]),
                    self._keeper.tenant(self._tenant),
                )
            except StoreUnavailable as problem:
                await self._keeper.database_is_away(problem, self._backoff)
            except TenureError as problem:
                # One of them cannot be taken. Alone it is dropped; the others are not lost with it.
                if len(batch) > 1:
                    for pending in batch:
                        await self._send(line, [pending])
                else:
                    self._keeper.unreportable(batch[0].run, problem)
                    self._recorded(batch[0], None)
                return
            else:
                self._backoff.reset()
                batch = self._heard(batch, answer)
                if batch:
                    await asyncio.sleep(_BUSY_PAUSE)

    def _heard(self, batch: list[Pending], answer: Reported) -> list[Pending]:
        """Those that were busy and are to be said again."""
        busy = [pending for pending in batch if pending.run.job.id in answer.busy]
        for pending in batch:
            if pending not in busy:
                self._recorded(pending, answer)
        for exhausted in answer.exhausted:
            self._keeper.over_budget(self._tenant, exhausted.job_id, exhausted.message)
        for job in answer.refused:
            self._keeper.refused(self._tenant, job, "a report")
        return busy

    def _recorded(self, pending: Pending, answer: Reported | None) -> None:
        for waiting in pending.flushes:
            if not waiting.done():
                waiting.set_result(None)
        granted = answer.granted.get(str(pending.run.job.id), {}) if answer else {}
        for pool in pending.take:
            slot = self._slots.pop((pending.run.number, pool), None)
            if slot is not None and not slot.done():
                slot.set_result(granted.get(pool))
        pending.run.unrecorded -= 1
        self._keeper.recorded(pending.run)
