"""From the claim of a job to the end of its attempt: what runners report, and when they die."""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from uuid import UUID

from tenure.config import Settings
from tenure.domain.job import JSON
from tenure.errors import InputRefused, TenureError
from tenure.observe.counting import Counting
from tenure.runtime.guarding import Exit, Guard
from tenure.runtime.keeper.background_tasks import BackgroundTasks
from tenure.runtime.keeper.database.clock import DatabaseClock
from tenure.runtime.keeper.database.exchange import Exchange
from tenure.runtime.keeper.database.lease import Lease
from tenure.runtime.keeper.database.reports import Reports
from tenure.runtime.keeper.database.storable import require_json
from tenure.runtime.keeper.runs import endings
from tenure.runtime.keeper.runs.attempt_log import log_cleanup
from tenure.runtime.keeper.runs.conclusions import Conclusions
from tenure.runtime.keeper.runs.inspections import Inspections
from tenure.runtime.keeper.runs.process_group import ProcessGroup
from tenure.runtime.keeper.runs.run import Run, RunLimits
from tenure.runtime.keeper.runs.run_table import RunTable
from tenure.runtime.keeper.runs.run_times import RunTimes
from tenure.runtime.keeper.runs.runner import Runner
from tenure.runtime.keeper.runs.runner_group import Assignment, RunnerGroup, RunnerGroups
from tenure.runtime.keeper.runs.runner_output import log_line
from tenure.runtime.keeper.runs.runner_requests import RunnerRequests
from tenure.runtime.keeper.runs.suspects import Suspects, has_room_alone, level_of, to_blame
from tenure.runtime.keeper.stops.stops import Stops
from tenure.runtime.messages import (
    AttemptEnded,
    AttemptReport,
    AttemptReports,
    Endings,
    FromRunner,
    InspectAnswer,
    Interrupting,
    RunnerRequest,
)
from tenure.runtime.temporary import remove
from tenure.store.outcomes import Ending
from tenure.store.results import Claimed

_log = logging.getLogger("tenure.worker")
_numbers = count(1)  # of runs; never used again in this process
_CHECK_EVERY = 0.1  # seconds, for runs that wait behind others


@dataclass(eq=False, kw_only=True)
class RunSupervisor:
    worker: UUID
    settings: Settings
    folder: InitVar[str]
    guard: Guard
    lease: Lease
    clock: DatabaseClock
    runs: RunTable
    exchanges: Mapping[str, Exchange]
    reports: Mapping[str, Reports]
    conclusions: Conclusions
    stops: Stops
    inspections: Inspections
    groups: RunnerGroups
    times: RunTimes
    requests: RunnerRequests
    counts: Counting
    tasks: BackgroundTasks

    def __post_init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._defaults = RunLimits({}, self.settings)
        self._suspects = Suspects()
        self._check: asyncio.TimerHandle | None = None  # of the runs that wait behind others
        self._guard_is_judged = False
        self._killed_guard: Run | None = None

    def start(self, tenant: str, group: RunnerGroup, jobs: Sequence[Claimed]) -> None:
        """Start jobs that were claimed for a group."""
        assignments: list[Assignment] = []
        self.counts.claimed(tenant, jobs)
        verbose = _log.isEnabledFor(logging.DEBUG)
        now = asyncio.get_running_loop().time()
        for job in jobs:
            if job.alone and self._postpone(tenant, job):
                continue
            try:
                limits = RunLimits(job.options, self.settings) if job.options else self._defaults
            except InputRefused as refusal:
                failed = endings.unreadable_options(tenant, job, refusal)
                self.exchanges[tenant].finish([failed])
                continue
            run = Run(next(_numbers), tenant, job, limits)
            run.claimed_at = now
            run.alone = job.alone and (level_of(job) > 1 or has_room_alone(self.runs))
            self.runs.add(run)
            assignments.append((run, run.work))
            if job.options:
                self.stops.set_timers(run)
            if verbose:
                _log.debug(
                    "worker %s claimed job %d (%s, attempt %d)",
                    self.worker,
                    job.id,
                    job.task,
                    job.attempt,
                    extra=run.about,
                )
        group.assign(assignments)
        self._check_soon()

    def _check_soon(self) -> None:
        """Check again while a function waits behind another."""
        if self._check is None and any(self._with_queue()):
            self._check = asyncio.get_running_loop().call_later(_CHECK_EVERY, self._check_queues)

    def _with_queue(self) -> Iterator[ProcessGroup]:
        return (
            group
            for group in self.groups.values()
            if isinstance(group, ProcessGroup) and group.has_queued
        )

    def _check_queues(self) -> None:
        """Give back the functions that wait behind long ones."""
        self._check = None
        for group in list(self._with_queue()):
            for runner in group.runners:
                # A function that takes longer than expected must not hold back earlier endings.
                if ended := runner.unsent_endings():
                    self._ended(runner, ended)
            for run in group.late():
                self.conclusions.give_back(run)
        self._check_soon()

    def _postpone(self, tenant: str, job: Claimed) -> bool:
        """Give a suspect back for a while if another has just started; return whether it was."""
        about = {"tenant": tenant, "job": job.id, "attempt": job.attempt}
        delay = self._suspects.delay(job, self.runs)
        if delay:
            _log.debug("job %d waits %.1f s: another suspect runs", job.id, delay, extra=about)
            run_at = self.clock.now() + timedelta(seconds=delay)
            self.exchanges[tenant].finish([endings.postponed(job, run_at)])
            return True
        _log.info(
            "job %d is a suspect and runs alone; crashes: %d", job.id, job.crashes, extra=about
        )
        return False

    def receive(self, runner: Runner, message: FromRunner) -> None:
        match message:
            case Endings(ended):
                self._ended(runner, ended)
            case AttemptReports(reports):
                for report in reports:
                    if run := runner.runs.get(report.run):
                        self._report(run, report)
            case Interrupting(number):
                if number in runner.runs:
                    runner.acknowledged.add(number)
            case InspectAnswer():
                self.inspections.receive(message)
            case RunnerRequest():
                self.requests.receive(runner, message)

    def receive_line(self, runner: Runner, stream: str, line: str) -> None:
        """Handle a line on the standard output of a runner."""
        run = runner.runs.get(runner.page.begun[0]) if runner.kind == "process" else None
        if run is None:
            log_line(runner, stream, line)
        elif run.may_print(self.settings.max_log_lines):
            self.reports[run.tenant].add(run, AttemptReport(run.number, logs=((stream, line),)))

    def runner_lost(self, runner: Runner, how: Exit | None) -> None:
        """End the runs of a runner that is gone, with all below it."""
        done: list[tuple[Run, Ending | None]] = []
        if runner.kind == "process":
            done = [(run, endings.given_back(run)) for run in runner.take_back()]
            self._ended(runner, runner.unsent_endings())
            runner.note_begun()
        unbegun = len(done)
        runs = list(runner.runs.values())
        if not runs and not unbegun:
            return
        self._remove_files(runs)
        guard_failed = self.guard.has_failed
        # No job caused this death: a guard also kills what was frozen for too long.
        innocent = not guard_failed and (
            runner.killed
            or self.guard.is_gone
            or not runner.ready.is_set()
            or not self.lease.is_current
        )
        if guard_failed:
            blamed = self._blamed_for_guard(runs)
        else:
            blamed = None if innocent else _culprit(runner, runs)
        for run in runs:
            if run.end_waits:
                done.append((run, endings.with_tree(run.ending, how)))
            elif run.killed:
                done.append((run, endings.with_tree(self.conclusions.killed(run), how)))
            elif run is blamed:
                crash = endings.crashed(run, runner, how, guard=guard_failed)
                self.conclusions.charge(runner, run, crash)
            else:
                back = endings.given_back(
                    run,
                    suspect=blamed is None and not innocent,
                    guard=guard_failed,
                    displaced=innocent and runner.killed,
                )
                done.append((run, back))
        if not innocent:
            _log.error(
                "%s (pid %d) died%s: %s; charged: %s; given back: %s",
                runner.name,
                runner.pid,
                " with the guard" if guard_failed else "",
                how,
                blamed or "nobody",
                ", ".join(str(run) for run, _ in done) or "nobody",
                extra=None if blamed is None else blamed.about,
            )
        self.conclusions.conclude(runner, done)
        self.conclusions.release(runner, len(runs) + unbegun - len(done))

    def _report(self, run: Run, report: AttemptReport) -> None:
        if report.cleaning:
            self.stops.note_cleanup(run)
        else:
            self.reports[run.tenant].add(run, report)

    def _ended(self, runner: Runner, ended: Sequence[AttemptEnded]) -> None:
        now = self.clock.now()
        runner.output.drain()
        done = []
        for end in ended:
            run = runner.runs.get(end.run)
            if run is None:
                continue
            if end.took:
                run.started_at = end.began
                self.times.note(run.job.task, end.took)
            ending = endings.recordable(run, partial(self._ending, run, end, now))
            if end.cleanup is not None:
                self.counts.cleaned(end.cleanup)
                log_cleanup(run, end.cleanup)
            self._retry_cleanup(run, end)
            if end.left:
                self._wait_for_runner(runner, run, ending, end.left)
            else:
                done.append((run, ending))
        self.conclusions.conclude(runner, done)
        if ended and runner.kind == "process":
            runner.page.handled = ended[-1].run
            runner.note_begun()

    def _ending(self, run: Run, end: AttemptEnded, now: datetime) -> Ending | None:
        if end.how == "completed":
            require_json(end.value)
        return endings.ended(run, end, now, self.settings.on_drain)

    def _wait_for_runner(self, runner: Runner, run: Run, ending: Ending | None, left: str) -> None:
        """Keep an ending until the runner is gone, because something of the run still runs."""
        run.ending = ending
        run.end_waits = True
        if runner.kind == "process":
            self.tasks.start(runner.kill())
            return
        _log.warning(
            "%s left %s behind: %s takes nothing new", run, left, runner.name, extra=run.about
        )
        runner.retire()
        self.tasks.start(self._kill_when_alone(runner))

    async def _kill_when_alone(self, runner: Runner) -> None:
        """Give the other runs in a runner time to finish, then kill it."""
        patience = self.settings.stop_grace.total_seconds()
        for run in list(runner.runs.values()):
            if not run.end_waits:
                started = asyncio.get_running_loop().time()
                await run.ends_within(patience)
                patience -= asyncio.get_running_loop().time() - started
        await runner.kill()

    def _remove_files(self, runs: Sequence[Run]) -> None:
        """Remove the temporary directories of runs whose runner is gone."""
        for run in runs:
            folder = self._folder / str(run.number)
            if folder.exists():
                self.tasks.start(asyncio.to_thread(remove, folder))

    def _blamed_for_guard(self, runs: Sequence[Run]) -> Run | None:
        """Return the run among these that is charged with the death of the guard, if any."""
        if not self._guard_is_judged:
            self._guard_is_judged = True
            self._killed_guard = to_blame(self.runs, asyncio.get_running_loop().time())
        return self._killed_guard if self._killed_guard in runs else None

    def _retry_cleanup(self, run: Run, end: AttemptEnded) -> None:
        """Enqueue jobs that close the resources which could not be closed."""
        for task, args in end.again:
            _log.warning(
                "a resource of %s could not be closed; %s tries again", run, task, extra=run.about
            )
            run.unrecorded += 1  # its ending waits, so that a crash now does not lose the cleanup
            self.tasks.start(self._enqueue_cleanup(run, task, args))

    async def _enqueue_cleanup(self, run: Run, task: str, args: Mapping[str, JSON]) -> None:
        try:
            await self.requests.enqueue_cleanup(run, task, args)
        except TenureError as problem:
            _log.error("nobody cleans up after %s: %s", run, problem, extra=run.about)
        finally:
            run.unrecorded -= 1
            self.conclusions.reports_recorded(run)


def _culprit(runner: Runner, runs: Sequence[Run]) -> Run | None:
    """Return the run that was on the CPU when its runner died; the only run is always it."""
    if len(runs) == 1:
        return runs[0]
    return runner.runs.get(runner.page.on_cpu)
