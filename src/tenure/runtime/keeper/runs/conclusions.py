"""The end of runs: their endings go to the exchange, and their place is free again.

An ending is handed over when the code is gone and all reports of the run are recorded; until then
the worker holds the run.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

import msgspec

from tenure.config import Settings
from tenure.errors import TenureError
from tenure.observe.counting import Counting
from tenure.runtime.keeper.background_tasks import BackgroundTasks
from tenure.runtime.keeper.database.access import DatabaseAccess
from tenure.runtime.keeper.database.clock import DatabaseClock
from tenure.runtime.keeper.database.exchange import Exchange
from tenure.runtime.keeper.database.reports import Reports
from tenure.runtime.keeper.runs import endings
from tenure.runtime.keeper.runs.attempt_log import log_ended
from tenure.runtime.keeper.runs.lost_attempts import LostAttempts
from tenure.runtime.keeper.runs.process_group import ProcessGroup
from tenure.runtime.keeper.runs.run import Run
from tenure.runtime.keeper.runs.run_table import RunTable
from tenure.runtime.keeper.runs.run_times import MeasuredTimes
from tenure.runtime.keeper.runs.runner import Runner
from tenure.runtime.keeper.runs.runner_group import RunnerGroup, RunnerGroups
from tenure.runtime.messages import AttemptReport
from tenure.store.calls import worker_calls
from tenure.store.outcomes import Ending

_log = logging.getLogger("tenure.worker")

_BUSY_PAUSE = 0.02
_RAN = ("completed", "failed", "retry")  # endings of code that was not cut short


@dataclass(eq=False, kw_only=True)
class Conclusions:
    worker: UUID
    settings: Settings
    runs: RunTable
    groups: RunnerGroups
    exchanges: Mapping[str, Exchange]
    reports: Mapping[str, Reports]
    database: DatabaseAccess
    clock: DatabaseClock
    counts: Counting
    measured: MeasuredTimes
    lost: LostAttempts
    tasks: BackgroundTasks

    def conclude(self, runner: Runner, done: Sequence[tuple[Run, Ending | None]]) -> None:
        """End runs whose code is gone; hand over the endings whose reports are recorded."""
        ready = []
        now = asyncio.get_running_loop().time()
        self.counts.ended(done, now)
        log_ended(done, now)
        for run, ending in done:
            self._end(runner, run)
            run.ending = ending
            self.lost.note(run, ending)
            if run.started_at is not None and ending is not None and ending.outcome in _RAN:
                self.measured.note(run.job.task, now - run.started_at)
            if ending is None:
                self.runs.remove(run)
                self.exchanges[run.tenant].promote_soon()
            elif run.lost:
                self.runs.remove(run)  # its outcome is another worker's to report
            elif not run.unrecorded:
                ready.append(ending)
                self.runs.remove(run)
        if runner.tenant is not None:
            self.exchanges[runner.tenant].finish(ready)
        self.release(runner, len(done))

    def charge(self, runner: Runner, run: Run, crash: Ending) -> None:
        """End a run that is charged with the death of its runner."""
        self._end(runner, run)
        self.counts.ended([(run, crash)], asyncio.get_running_loop().time())
        self.lost.note(run, crash)
        self.tasks.start(self._charge(run, crash))

    def release(self, runner: Runner, n: int) -> None:
        """Free the capacity of n runs of a runner, and retire the runner if it is worn out."""
        runner.idle_since = asyncio.get_running_loop().time()
        group = self.groups.get((runner.tenant or "", runner.kind or "async"))
        if self._is_worn_out(runner):
            if isinstance(group, ProcessGroup):
                group.take_back(runner)
            runner.retire()
        if group is not None:
            group.release(n)

    def reports_recorded(self, run: Run) -> None:
        """Hand over the ending of a run if it waited for its reports.

        Not while its runner still has to end: until then its code is not gone.
        """
        through = run.has_ended and not run.unrecorded and run in self.runs
        if through and run.ending is not None:
            self.runs.remove(run)
            self.exchanges[run.tenant].finish([run.ending])

    def abandon(self, run: Run) -> None:
        """Forget a run that has ended, because its tenant is gone."""
        run.lost = True
        self.runs.remove(run)

    def drop(self, run: Run, why: str) -> None:
        """Kill a run that this worker does not hold any more, and report nothing about it."""
        _log.warning("%s is killed: %s", run, why, extra=run.about)
        run.lost = True
        if run.started_at is None and self.withdraw(run):
            return
        if run.runner is not None and not run.has_ended:
            self.tasks.start(run.runner.kill())

    def withdraw(self, run: Run) -> bool:
        """Stop a run that has not begun; return whether that was possible."""
        return self._withdraw(run, None if run.lost else self.killed(run))

    def give_back_waiting(self, group: RunnerGroup | None = None) -> None:
        """Give back the runs that no runner will take, of this group or of all."""
        for run in self.runs:
            if run.runner is None and (group is None or group.has_waiting(run)):
                self._withdraw(run, endings.given_back(run))

    def give_back(self, run: Run) -> None:
        """Give back a run that has not begun, for another worker."""
        self._withdraw(run, endings.given_back(run))

    def killed(self, run: Run) -> Ending | None:
        now = self.clock.now()
        return endings.recordable(run, lambda: endings.killed(run, now, self.settings.on_drain))

    def _withdraw(self, run: Run, ending: Ending | None) -> bool:
        if ending is not None:
            unstarted = ending.outcome == "released"
            ending = msgspec.structs.replace(ending, runner=None, unstarted=unstarted)
        for group in self.groups.values():
            if group.withdraw(run):
                run.end()
                self.runs.remove(run)
                self.counts.ended([(run, ending)], asyncio.get_running_loop().time())
                if ending is not None:
                    self.exchanges[run.tenant].finish([ending])
                return True
        return False

    def _end(self, runner: Runner, run: Run) -> None:
        runner.runs.pop(run.number, None)
        runner.acknowledged.discard(run.number)
        runner.done += 1
        dropped = run.lines - self.settings.max_log_lines
        if dropped > 0:
            line = f"{dropped} lines of output were dropped: the limit of a job was reached"
            self.reports[run.tenant].add(run, AttemptReport(run.number, logs=(("warning", line),)))
        run.end()

    async def _charge(self, run: Run, crash: Ending) -> None:
        """Record a crash after the reports of its job; until then the worker holds the run."""
        if run.unrecorded:
            with suppress(TenureError):
                await self.reports[run.tenant].flushed(run)
        call = worker_calls.crash(self.worker, [crash])
        answer = await self.database.retry_until_answered(call, run.tenant)
        while answer is not None and answer.busy:
            await asyncio.sleep(_BUSY_PAUSE)
            answer = await self.database.retry_until_answered(call, run.tenant)
        self.runs.remove(run)
        self.exchanges[run.tenant].promote_soon()

    def _is_worn_out(self, runner: Runner) -> bool:
        if runner.kind != "process":
            return runner.retired or (runner.alone and not runner.runs)
        return (
            runner.retired
            or runner.done >= self.settings.recycle_after
            or runner.memory > self.settings.recycle_above
        )
