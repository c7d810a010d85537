"""What running jobs of a tenant say, on its way into the database: one call at a time.

What is said while a call is under way goes into the next one, so a hundred jobs that report
progress cost one call. An ending waits until what its job said before is recorded.
"""

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from tenure.domain.bounds import LOG_LEVEL, LOG_LINE
from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused, TenureError
from tenure.runtime.keeper.asking import asked
from tenure.runtime.keeper.backoff import Backoff
from tenure.runtime.keeper.desks import Customer
from tenure.runtime.keeper.run import Run
from tenure.runtime.keeper.storable import storable
from tenure.runtime.messages import AttemptReport
from tenure.store.calls import worker_calls
from tenure.store.outcomes import Artifact, LogLine, Report
from tenure.store.results import Reported
from tenure.store.serial_connection import SerialConnection

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

_BATCH = 200
_MOST_BYTES = 4 << 20  # in one call, roughly; the database refuses what is far larger
_BUSY_PAUSE = 0.02


class Pending:
    """What one run has said since the last report."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.progress: Any = None
        self.checkpoint: bytes = b""
        self.partials: list[bytes] = []
        self.spent: dict[str, int | float] = {}
        self.logs: list[LogLine] = []
        self.artifacts: list[Artifact] = []
        self.take: dict[str, asyncio.Future[str | None]] = {}  # who waits for a slot, by pool
        self.give: list[str] = []
        self.forget_artifacts = False
        self.flushes: list[asyncio.Future[None]] = []
        self.size = 0  # bytes, roughly

    def add(self, said: AttemptReport) -> None:
        self.progress = storable(said.progress) or self.progress
        self.checkpoint = said.checkpoint or self.checkpoint
        self.partials += said.partials
        for unit, amount in (said.spent or {}).items():
            self.spent[unit] = self.spent.get(unit, 0) + amount
        self.logs += [
            LogLine(storable(line)[: LOG_LINE.most], storable(level)[: LOG_LEVEL.most])
            for level, line in said.logs
        ]
        self.artifacts += [Artifact(*artifact) for artifact in said.artifacts]
        self.give += said.give
        self.forget_artifacts = self.forget_artifacts or said.forget_artifacts
        self.size += sum(map(len, said.partials)) + len(said.checkpoint)
        self.size += sum(len(line) for _, line in said.logs)

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
            take=list(self.take),
            give=self.give,
            forget_artifacts=self.forget_artifacts,
        )


class Batch(NamedTuple):
    """What is said in one call; said again, it keeps its number."""

    pendings: list[Pending]
    number: int


class Reports(Customer):
    def __init__(self, keeper: "Keeper", tenant: Tenant) -> None:
        self._keeper = keeper
        self._tenant = tenant
        self._queue: deque[Pending] = deque()
        self._open: dict[int, Pending] = {}  # by run: what may still be added to
        self._again: deque[Batch] = deque()  # was said once, and has to be said before the rest
        self._backoff = Backoff()

    def add(self, run: Run, said: AttemptReport) -> None:
        self._of(run).add(said)

    def flushed(self, run: Run) -> "asyncio.Future[None]":
        """Done when all that this run has said so far is recorded."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._of(run).flushes.append(waiting)
        return waiting

    def take_slot(self, run: Run, pool: str) -> "asyncio.Future[str | None]":
        """The slot's name, or nothing when there is none free."""
        take = self._of(run).take
        if pool not in take:
            take[pool] = asyncio.get_running_loop().create_future()
        return take[pool]

    def _of(self, run: Run) -> Pending:
        pending = self._open.get(run.number)
        if pending is None or pending.size > _MOST_BYTES:
            pending = self._open[run.number] = Pending(run)
            self._queue.append(pending)
            run.unrecorded += 1
            self.line_up()
        return pending

    def line_up(self) -> None:
        self._keeper.report_desk.line_up(self)

    @property
    def _is_waiting(self) -> bool:
        return bool(self._again or self._queue)

    def close(self) -> None:
        """Whoever waits for something to be recorded waits in vain."""
        super().close()
        problem = InputRefused(f"there is no tenant {self._tenant.name!r} any more")
        for pending in [*(one for batch in self._again for one in batch.pendings), *self._queue]:
            self._dropped(pending, problem)

    async def run_once(self, line: SerialConnection) -> None:
        batch = self._again.popleft() if self._again else self._next()
        told = [pending.report for pending in batch.pendings]
        try:
            answer = await asked(
                line,
                worker_calls.report(self._keeper.id, told, number=batch.number),
                self._keeper.settings.lease.total_seconds(),
                self._tenant,
            )
        except InputRefused as problem:
            # One of them cannot be taken. Alone it is dropped; the others are not lost with it.
            if len(batch.pendings) > 1:
                self._again.extendleft(map(self._batch, reversed(batch.pendings)))
            else:
                self._dropped(batch.pendings[0], problem)
        except TenureError as problem:
            self._again.appendleft(batch)
            self._keeper.note_outage(problem)
            self.rest(self._backoff.next())
        else:
            self._backoff.reset()
            if busy := self._heard(batch.pendings, answer):
                self._again.appendleft(self._batch(*busy))
                self.rest(_BUSY_PAUSE)

    def _batch(self, *pendings: Pending) -> Batch:
        return Batch(list(pendings), next(self._keeper.report_numbers))

    def _next(self) -> Batch:
        batch: list[Pending] = []
        size = 0
        while self._queue and len(batch) < _BATCH and size < _MOST_BYTES:
            pending = self._queue.popleft()
            if self._open.get(pending.run.number) is pending:
                del self._open[pending.run.number]
            size += pending.size
            batch.append(pending)
        return self._batch(*batch)

    def _heard(self, batch: list[Pending], answer: Reported) -> list[Pending]:
        """Those that were busy and are to be said again."""
        busy = [pending for pending in batch if pending.run.job.id in answer.busy]
        for exhausted in answer.exhausted:
            self._keeper.over_budget(self._tenant.name, exhausted.job_id, exhausted.message)
        for pending in batch:
            if pending not in busy:
                self._recorded(pending, answer)
        for job in answer.late:
            tokens = {one.run.job.token for one in batch if one.run.job.id == job}
            for token in tokens:
                self._keeper.refused(self._tenant.name, job, "a report", token)
        return busy

    def _recorded(self, pending: Pending, answer: Reported) -> None:
        granted = answer.granted.get(str(pending.run.job.id), {})
        if pending.run.overspent and pending.flushes:
            self._keeper.start(self._flushed_when_stopped(pending))
        else:
            _are_done(pending.flushes)
        for pool, slot in pending.take.items():
            if not slot.done():
                slot.set_result(granted.get(pool))
        self._is_through(pending)

    async def _flushed_when_stopped(self, pending: Pending) -> None:
        """Whoever flushes what it spends goes no further when that was too much."""
        run, loop = pending.run, asyncio.get_running_loop()
        until = loop.time() + self._keeper.settings.lease.total_seconds()
        while not run.is_interrupted and loop.time() < until:
            if await run.ends_within(_BUSY_PAUSE):
                break
        _are_done(pending.flushes)

    def _dropped(self, pending: Pending, problem: InputRefused) -> None:
        """Whoever waits for it hears that it was not recorded."""
        self._keeper.unreportable(pending.run, problem)
        everybody: list[asyncio.Future[Any]] = [*pending.flushes, *pending.take.values()]
        for waiting in everybody:
            if not waiting.done():
                waiting.set_exception(InputRefused(f"what was said is not recorded: {problem}"))
        self._is_through(pending)

    def _is_through(self, pending: Pending) -> None:
        pending.run.unrecorded -= 1
        self._keeper.runs.recorded(pending.run)


def _are_done(flushes: list["asyncio.Future[None]"]) -> None:
    for waiting in flushes:
        if not waiting.done():
            waiting.set_result(None)
