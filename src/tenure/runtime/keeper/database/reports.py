"""The reports of a tenant's running jobs, on their way into the database: one call at a time.

What is reported during a call goes into the next one, so a hundred jobs that report progress cost
one call. An ending waits until the reports of its job are recorded.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from tenure.domain.bounds import LOG_LEVEL, LOG_LINE
from tenure.domain.job import JSON
from tenure.domain.tenant import Tenant
from tenure.errors import IllegalTransition, InputRefused, TenureError, WriteRefused
from tenure.runtime.keeper.background_tasks import BackgroundTasks
from tenure.runtime.keeper.database.access import DatabaseAccess, ask_within
from tenure.runtime.keeper.database.backoff import Backoff
from tenure.runtime.keeper.database.dispatcher import Dispatcher, TenantQueue
from tenure.runtime.keeper.database.storable import storable
from tenure.runtime.keeper.runs.run import Run
from tenure.runtime.keeper.runs.run_table import RunTable
from tenure.runtime.keeper.stops.stops import Stops
from tenure.runtime.messages import AttemptReport
from tenure.store.calls import worker_calls
from tenure.store.limit_results import GrantAnswer
from tenure.store.outcomes import Artifact, LogLine, Report
from tenure.store.results import Reported
from tenure.store.serial_connection import SerialConnection

_log = logging.getLogger("tenure.worker")

_BATCH = 200
_MAX_BYTES = 4 << 20  # in one call, roughly; the database refuses what is far larger
_BUSY_PAUSE = 0.02
_LATE = GrantAnswer(refused="the attempt that asks this has ended")


class Pending:
    """The reports of a run since the last call."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.report = Report(job=run.job.id, token=run.job.token)
        self.slots: dict[str, asyncio.Future[str | None]] = {}  # by pool: waits for a slot
        self.asks: dict[int, asyncio.Future[GrantAnswer]] = {}  # by number of the request
        self.flushes: list[asyncio.Future[None]] = []
        self.size = 0  # bytes, roughly

    def add(self, news: AttemptReport) -> None:
        report = self.report
        report.progress = storable(news.progress) or report.progress
        if news.checkpoint:
            report.checkpoint = msgspec.Raw(news.checkpoint)
        if news.forget_partials:
            self._forget(news.forget_partials)
        if news.step:
            report.partial_steps += [None] * (len(report.partials) - len(report.partial_steps))
            report.partial_steps += [news.step] * len(news.partials)
        report.partials += map(msgspec.Raw, news.partials)
        report.steps += map(msgspec.Raw, news.steps)
        for unit, amount in (news.spent or {}).items():
            report.spent[unit] = report.spent.get(unit, 0) + amount
        report.logs += [
            LogLine(storable(line)[: LOG_LINE.max], storable(level)[: LOG_LEVEL.max])
            for level, line in news.logs
        ]
        report.artifacts += [Artifact(*artifact) for artifact in news.artifacts]
        report.give += news.give
        report.settled += news.settled
        report.forget_artifacts = report.forget_artifacts or news.forget_artifacts
        self.size += sum(map(len, (*news.partials, *news.steps))) + len(news.checkpoint)
        self.size += sum(len(line) for _, line in news.logs)

    def _forget(self, step: str) -> None:
        """Drop what a step emitted that now runs again, here and in the database."""
        report = self.report
        report.forget_partials.append(step)
        steps = [*report.partial_steps, *[None] * len(report.partials)]
        kept = [pair for pair in zip(report.partials, steps, strict=False) if pair[1] != step]
        report.partials = [partial for partial, _ in kept]
        report.partial_steps = [name for _, name in kept]


class Batch(NamedTuple):
    """The reports in one call; sent again, they keep their number."""

    pendings: list[Pending]
    number: int


@dataclass(eq=False)
class Reports(TenantQueue):
    tenant: Tenant
    worker: UUID
    dispatcher: "Dispatcher[Reports]"
    database: DatabaseAccess
    runs: RunTable
    stops: Stops
    tasks: BackgroundTasks
    patience: float
    numbers: Iterator[int]
    on_recorded: Callable[[Run], None]

    def __post_init__(self) -> None:
        self._queue: deque[Pending] = deque()
        self._open: dict[int, Pending] = {}  # by run: what may still be added to
        self._again: deque[Batch] = deque()  # was sent once, and has to go before the rest
        self._backoff = Backoff()

    def add(self, run: Run, report: AttemptReport) -> None:
        for settled in report.settled:
            if "withdrawn" in settled and isinstance(number := settled.get("number"), int):
                run.withdrawn[number] = settled
        self._of(run).add(report)

    def flushed(self, run: Run) -> "asyncio.Future[None]":
        """Return a future that is done when all reports of this run so far are recorded."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._of(run).flushes.append(waiting)
        return waiting

    def take_slot(self, run: Run, pool: str) -> "asyncio.Future[str | None]":
        """Return a future of the slot's name, or of None if no slot is free."""
        pending = self._of(run)
        if pool not in pending.slots:
            pending.report.take.append(pool)
            pending.slots[pool] = asyncio.get_running_loop().create_future()
        return pending.slots[pool]

    def ask(self, run: Run, request: Mapping[str, JSON]) -> "asyncio.Future[GrantAnswer]":
        """Return a future of the answer to a request for a grant or a reservation."""
        pending, number = self._of(run), request["number"]
        pending.report.asks.append(request)
        pending.asks[number] = asyncio.get_running_loop().create_future()
        return pending.asks[number]

    def _of(self, run: Run) -> Pending:
        pending = self._open.get(run.number)
        if pending is None or pending.size > _MAX_BYTES:
            pending = self._open[run.number] = Pending(run)
            self._queue.append(pending)
            run.unrecorded += 1
            self.schedule()
        return pending

    def schedule(self) -> None:
        self.dispatcher.schedule(self)

    @property
    def _has_work(self) -> bool:
        return bool(self._again or self._queue)

    def close(self) -> None:
        """Fail everybody who waits for something to be recorded."""
        super().close()
        problem = InputRefused(f"there is no tenant {self.tenant.name!r} any more")
        again = [pending for batch in self._again for pending in batch.pendings]
        for pending in [*again, *self._queue]:
            self._refuse(pending, problem)

    async def run_once(self, line: SerialConnection) -> None:
        batch = self._again.popleft() if self._again else self._next()
        reports = [pending.report for pending in batch.pendings]
        try:
            answer = await ask_within(
                line,
                worker_calls.report(self.worker, reports, number=batch.number),
                self.patience,
                self.tenant,
            )
        except (InputRefused, WriteRefused) as problem:
            # One of them cannot be recorded. Sent alone it is dropped, and the others are kept.
            if len(batch.pendings) > 1:
                self._again.extendleft(map(self._batch, reversed(batch.pendings)))
            else:
                self._refuse(batch.pendings[0], problem)
        except TenureError as problem:
            self._again.appendleft(batch)
            self.database.report_outage(problem)
            self.pause(self._backoff.next())
        else:
            self._backoff.reset()
            if busy := self._handle(batch.pendings, answer):
                self._again.appendleft(self._batch(*busy))
                self.pause(_BUSY_PAUSE)

    def _batch(self, *pendings: Pending) -> Batch:
        return Batch(list(pendings), next(self.numbers))

    def _next(self) -> Batch:
        batch: list[Pending] = []
        size = 0
        while self._queue and len(batch) < _BATCH and size < _MAX_BYTES:
            pending = self._queue.popleft()
            if self._open.get(pending.run.number) is pending:
                del self._open[pending.run.number]
            size += pending.size
            batch.append(pending)
        return self._batch(*batch)

    def _handle(self, batch: list[Pending], answer: Reported) -> list[Pending]:
        """Handle the answer, and return what has to be sent again because its job was busy."""
        busy = [pending for pending in batch if pending.run.job.id in answer.busy]
        for exhausted in answer.exhausted:
            self.stops.over_budget(self.tenant.name, exhausted.job_id, exhausted.message)
        for pending in batch:
            if pending not in busy:
                self._record(pending, answer)
        for job in answer.late:
            tokens = {sent.run.job.token for sent in batch if sent.run.job.id == job}
            for token in tokens:
                self.runs.refuse_late_write(self.tenant.name, job, "a report", token)
        return busy

    def _record(self, pending: Pending, answer: Reported) -> None:
        granted = answer.granted.get(str(pending.run.job.id), {})
        dropped = pending.run.dropped if pending.flushes else None
        if dropped is not None:
            pending.run.dropped = None
            _fail(pending.flushes, _not_recorded(dropped))
        elif pending.run.job.id in answer.refused:
            # Its code must not continue as if this were kept: another attempt may do its work.
            _fail(
                pending.flushes, IllegalTransition(f"{pending.run} is not this worker's any more")
            )
        elif pending.run.overspent and pending.flushes:
            self.tasks.start(self._flush_when_stopped(pending))
        else:
            _set_done(pending.flushes)
        for pool, slot in pending.slots.items():
            if not slot.done():
                slot.set_result(granted.get(pool))
        answered = answer.answered.get(str(pending.run.job.id), {})
        for number, ask in pending.asks.items():
            if not ask.done():
                ask.set_result(answered.get(str(number), _LATE))
        self._settle(pending)

    async def _flush_when_stopped(self, pending: Pending) -> None:
        """Hold up a job that flushes what it spent until its stop for overspending reaches it."""
        run, loop = pending.run, asyncio.get_running_loop()
        until = loop.time() + self.patience
        while not run.is_interrupted and loop.time() < until:
            if await run.ends_within(_BUSY_PAUSE):
                break
        _set_done(pending.flushes)

    def _refuse(self, pending: Pending, problem: TenureError) -> None:
        """Drop a report, and tell everybody who waits for it."""
        run = pending.run
        _log.error("what %s reported cannot be recorded: %s", run, problem, extra=run.about)
        waiting: list[asyncio.Future[Any]] = [
            *pending.flushes,
            *pending.slots.values(),
            *pending.asks.values(),
        ]
        if not pending.flushes:  # the next one tells: it may be on its way in another message
            run.dropped = problem
        _fail(waiting, _not_recorded(problem))
        self._settle(pending)

    def _settle(self, pending: Pending) -> None:
        pending.run.unrecorded -= 1
        self.on_recorded(pending.run)


def _not_recorded(problem: TenureError) -> InputRefused:
    return InputRefused(f"a report was not recorded: {problem}")


def _fail(waiting: Iterable["asyncio.Future[Any]"], problem: TenureError) -> None:
    for future in waiting:
        if not future.done():
            future.set_exception(problem)


def _set_done(flushes: list["asyncio.Future[None]"]) -> None:
    for waiting in flushes:
        if not waiting.done():
            waiting.set_result(None)
