"""What a worker holds, from the claim of a job to the end of its attempt.

An end is told when the code is gone and all that it said is recorded; until then the run is ours.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

import msgspec

from tenure.domain.job import JSON
from tenure.errors import InputRefused, TenureError
from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.guarding import Exit
from tenure.runtime.keeper import deaths
from tenure.runtime.keeper.crew import Assignment, Crew
from tenure.runtime.keeper.run import Limits, Run
from tenure.runtime.keeper.runners import Runner
from tenure.runtime.keeper.said import say_cleaned, say_ended
from tenure.runtime.keeper.starting import unreadable, work_of
from tenure.runtime.keeper.storable import refuse_no_json, storable
from tenure.runtime.keeper.suspects import Suspects, has_room_alone, level_of, to_blame
from tenure.runtime.keeper.verdicts import ending, killed
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
from tenure.store.calls import worker_calls
from tenure.store.outcomes import Ending
from tenure.store.results import Claimed

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

_log = logging.getLogger("tenure.worker")
_BUSY_PAUSE = 0.02
_numbers = count(1)  # of runs; never used again in this process


class Runs:
    def __init__(self, keeper: "Keeper") -> None:
        self._keeper = keeper
        self._settings = keeper.settings
        self._defaults = Limits({}, keeper.settings)
        self._runs: dict[int, Run] = {}
        self._by_job: dict[tuple[str, int], Run] = {}
        self._suspects = Suspects()
        self._knows_who_killed_guard = False
        self._killed_guard: Run | None = None

    def __iter__(self) -> Iterator[Run]:
        return iter(list(self._runs.values()))

    def __len__(self) -> int:
        return len(self._runs)

    def of(self, tenant: str, job: int, token: int | None = None) -> Run | None:
        """The run of a job, under this token if one is given."""
        run = self._by_job.get((tenant, job))
        return run if run is not None and token in (None, run.job.token) else None

    def claimed(self, tenant: str, crew: Crew, jobs: Sequence[Claimed]) -> None:
        assignments: list[Assignment] = []
        self._keeper.counts.claimed(tenant, jobs)
        chatty = _log.isEnabledFor(logging.DEBUG)
        for job in jobs:
            if job.alone and self._put_off(tenant, job):
                continue
            try:
                limits = Limits(job.options, self._settings) if job.options else self._defaults
            except InputRefused as refusal:
                self._keeper.exchanges[tenant].finish([unreadable(tenant, job, refusal)])
                continue
            run = Run(next(_numbers), tenant, job, limits)
            run.alone = job.alone and (level_of(job) > 1 or has_room_alone(self._runs.values()))
            self._runs[run.number] = run
            self._by_job[tenant, job.id] = run
            assignments.append((run, work_of(run)))
            if job.options:
                self._keeper.stops.set_timers(run)
            if chatty:
                _log.debug(
                    "worker %s claimed job %d (%s, attempt %d)",
                    self._keeper.id,
                    job.id,
                    job.task,
                    job.attempt,
                    extra=run.about,
                )
        crew.assign(assignments)

    def _put_off(self, tenant: str, job: Claimed) -> bool:
        """Give a suspect back for a while if another one has just started; return whether so."""
        about = {"tenant": tenant, "job": job.id, "attempt": job.attempt}
        delay = self._suspects.delay(job, self._runs.values())
        if delay:
            _log.debug("job %d waits %.1f s: another suspect runs", job.id, delay, extra=about)
            run_at = self._keeper.clock.now() + timedelta(seconds=delay)
            self._keeper.exchanges[tenant].finish([deaths.put_off(job, run_at)])
            return True
        _log.info(
            "job %d is a suspect and runs alone; crashes: %d", job.id, job.crashes, extra=about
        )
        return False

    def heard(self, runner: Runner, message: FromRunner) -> None:
        match message:
            case Endings(ended):
                self._ended(runner, ended)
            case AttemptReports(said):
                for one in said:
                    if run := runner.runs.get(one.run):
                        self._said(run, one)
            case Interrupting(number):
                if number in runner.runs:
                    runner.passed_on.add(number)
            case InspectAnswer():
                self._keeper.looks.seen(message)
            case RunnerRequest():
                self._keeper.questions.hear(runner, message)

    def _said(self, run: Run, said: AttemptReport) -> None:
        if said.cleaning:
            self._keeper.stops.note_cleanup(run)
        else:
            self._keeper.reports[run.tenant].add(run, said)

    def printed(self, runner: Runner, stream: str, line: str) -> None:
        """A line on the standard output of a runner."""
        run = next(iter(runner.runs.values()), None) if runner.kind == "process" else None
        if run is None:
            _log.info("%s %s: %s", runner.name, stream, line)
        elif run.may_print(self._settings.max_log_lines):
            self._keeper.reports[run.tenant].add(
                run, AttemptReport(run.number, logs=((stream, line),))
            )

    def _ended(self, runner: Runner, ended: Sequence[AttemptEnded]) -> None:
        now = self._keeper.clock.now()
        runner.output.drain()
        done = []
        for one in ended:
            run = runner.runs.get(one.run)
            if run is None:
                continue
            told = self._recordable(run, partial(self._told, run, one, now))
            if one.cleanup is not None:
                self._keeper.counts.cleaned(one.cleanup)
                say_cleaned(run, one.cleanup)
            self._clean_up_again(run, one)
            if one.left:
                self._wait_for_the_rest(runner, run, told, one.left)
            else:
                done.append((run, told))
        self._conclude(runner, done)

    def _told(self, run: Run, ended: AttemptEnded, now: datetime) -> Ending | None:
        if ended.how == "completed":
            refuse_no_json(ended.value)
        return ending(run, ended, now, self._settings.on_drain)

    def _recordable(self, run: Run, say: Callable[[], Ending | None]) -> Ending | None:
        """What to record of its end; that nobody can, where its code said such things."""
        try:
            told = say()
        except (TenureError, ValueError, OverflowError) as problem:
            sentence = f"how it ended cannot be recorded: {problem}"
            error = {"type": "tenure.InputRefused", "message": sentence}
            return Ending(job=run.job.id, token=run.job.token, outcome="failed", error=error)
        if told is None or (told.error is None and told.cleanup is None):
            return told
        return msgspec.structs.replace(
            told, error=storable(told.error), cleanup=storable(told.cleanup)
        )

    def _killed(self, run: Run) -> Ending | None:
        now = self._keeper.clock.now()
        return self._recordable(run, lambda: killed(run, now, self._settings.on_drain))

    def _conclude(self, runner: Runner, done: Sequence[tuple[Run, Ending | None]]) -> None:
        """Their code is gone: hand their endings over, when all they said is recorded."""
        endings = []
        now = asyncio.get_running_loop().time()
        self._keeper.counts.ended(done, now)
        say_ended(done, now)
        for run, told in done:
            self._end(runner, run)
            run.ending = told
            if told is None:
                self._forget(run)
                self._keeper.exchanges[run.tenant].promote_soon()
            elif run.lost:
                self._forget(run)  # what became of it is another worker's to say
            elif not run.unrecorded:
                endings.append(told)
                self._forget(run)
        if runner.tenant is not None:
            self._keeper.exchanges[runner.tenant].finish(endings)
        self._make_room(runner, len(done))

    def _end(self, runner: Runner, run: Run) -> None:
        runner.runs.pop(run.number, None)
        runner.passed_on.discard(run.number)
        runner.done += 1
        self._say_what_was_dropped(run)
        run.end()

    def _make_room(self, runner: Runner, n: int) -> None:
        runner.idle_since = asyncio.get_running_loop().time()
        if self._is_worn_out(runner):
            self._keeper.staff.retire(runner)
        crew = self._keeper.staff.crews.get((runner.tenant or "", runner.kind or "async"))
        if crew is not None:
            crew.ended(n)

    def _say_what_was_dropped(self, run: Run) -> None:
        dropped = run.lines - self._settings.max_log_lines
        if dropped > 0:
            line = f"{dropped} lines of output were dropped: the limit of a job was reached"
            self._keeper.reports[run.tenant].add(
                run, AttemptReport(run.number, logs=(("warning", line),))
            )

    def recorded(self, run: Run) -> None:
        """All that this run said until now is recorded; its ending may follow.

        Not while its runner still has to end: until then its code is not gone.
        """
        through = run.has_ended and not run.unrecorded and self._runs.get(run.number) is run
        if through and run.ending is not None:
            self._forget(run)
            self._keeper.exchanges[run.tenant].finish([run.ending])

    def abandon(self, run: Run) -> None:
        """Its code has ended, and there is nobody to tell it to."""
        run.lost = True
        self._forget(run)

    def _forget(self, run: Run) -> None:
        self._runs.pop(run.number, None)
        if self._by_job.get((run.tenant, run.job.id)) is run:
            del self._by_job[run.tenant, run.job.id]
        self._keeper.stops.forget(run)
        self._keeper.looks.forget(run)

    def withdraw(self, run: Run) -> bool:
        """Stop a run that has no runner yet; whether that could be done."""
        return self._withdrawn(run, None if run.lost else self._killed(run))

    def give_back_waiting(self, crew: Crew | None = None) -> None:
        """Those that no runner will take, of this crew or of all: others may have one."""
        for run in self:
            if run.runner is None and (crew is None or crew.has_waiting(run)):
                self._withdrawn(run, deaths.give_back(run, suspect=False))

    def _withdrawn(self, run: Run, told: Ending | None) -> bool:
        if told is not None and told.outcome == "released":
            told = msgspec.structs.replace(told, unstarted=True)
        for crew in self._keeper.staff.crews.values():
            if crew.withdraw(run):
                run.end()
                self._forget(run)
                self._keeper.counts.ended([(run, told)], asyncio.get_running_loop().time())
                if told is not None:
                    self._keeper.exchanges[run.tenant].finish([told])
                return True
        return False

    def _wait_for_the_rest(self, runner: Runner, run: Run, told: Ending | None, left: str) -> None:
        """Its code has ended, but not all it started: it counts when the runner is gone."""
        run.ending = told
        run.end_waits = True
        if runner.kind == "process":
            self._keeper.start(self._keeper.staff.kill(runner))
            return
        _log.warning(
            "%s left %s behind: %s takes nothing new", run, left, runner.name, extra=run.about
        )
        self._keeper.staff.retire(runner)
        self._keeper.start(self._kill_when_alone(runner))

    async def _kill_when_alone(self, runner: Runner) -> None:
        """Let the neighbours finish first, for a while."""
        patience = self._settings.stop_grace.total_seconds()
        for run in list(runner.runs.values()):
            if not run.end_waits:
                started = asyncio.get_running_loop().time()
                await run.ends_within(patience)
                patience -= asyncio.get_running_loop().time() - started
        await self._keeper.staff.kill(runner)

    def runner_lost(self, runner: Runner, how: Exit | None) -> None:
        """A runner and all below it are gone."""
        runs = list(runner.runs.values())
        if not runs:
            return
        self._keeper.staff.remove_files(runs)
        done: list[tuple[Run, Ending | None]] = []
        guard_failed = self._keeper.guard.has_failed
        # Its death was not its own doing: a guard also kills what was frozen for too long.
        innocent = not guard_failed and (
            runner.killed
            or self._keeper.guard.is_gone
            or not runner.ready.is_set()
            or boottime() >= self._keeper.lease.trusted_until
        )
        if guard_failed:
            blamed = self._blamed_for_guard(runs)
        else:
            blamed = None if innocent else deaths.culprit(runner, runs)
        for run in runs:
            if run.end_waits:
                done.append((run, deaths.with_tree(run.ending, how)))
            elif run.killed:
                done.append((run, deaths.with_tree(self._killed(run), how)))
            elif run is blamed:
                self._end(runner, run)
                charge = deaths.guard_crash if guard_failed else deaths.crash
                crash = charge(run, runner, how)
                self._keeper.counts.ended([(run, crash)], asyncio.get_running_loop().time())
                self._keeper.start(self._charge(run, crash))
            else:
                back = deaths.give_back(
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
        self._conclude(runner, done)
        self._make_room(runner, len(runs) - len(done))

    def _blamed_for_guard(self, runs: Sequence[Run]) -> Run | None:
        """Return who of these is charged with the death of the guard, which took all runners."""
        if not self._knows_who_killed_guard:
            self._knows_who_killed_guard = True
            self._killed_guard = to_blame(self, asyncio.get_running_loop().time())
        return self._killed_guard if self._killed_guard in runs else None

    async def _charge(self, run: Run, crash: Ending) -> None:
        """A crash is told when all that its job had said is recorded; until then it is ours."""
        if run.unrecorded:
            with suppress(TenureError):
                await self._keeper.reports[run.tenant].flushed(run)
        while (
            told := await self._keeper.insisted(
                worker_calls.crash(self._keeper.id, [crash]), run.tenant
            )
        ) is not None:
            if not told.busy:
                break
            await asyncio.sleep(_BUSY_PAUSE)
        self._forget(run)
        self._keeper.exchanges[run.tenant].promote_soon()

    def _is_worn_out(self, runner: Runner) -> bool:
        if runner.kind != "process":
            return runner.retired or (runner.alone and not runner.runs)
        return (
            runner.done >= self._settings.recycle_after
            or runner.memory > self._settings.recycle_above
        )

    def _clean_up_again(self, run: Run, ended: AttemptEnded) -> None:
        """What could not be closed is tried again by jobs."""
        for task, args in ended.again:
            _log.warning(
                "a resource of %s could not be closed; %s goes on trying",
                run,
                task,
                extra=run.about,
            )
            run.unrecorded += 1  # its ending waits, so that a crash now does not lose the clean-up
            self._keeper.start(self._clean_up_later(run, task, args))

    async def _clean_up_later(self, run: Run, task: str, args: Mapping[str, JSON]) -> None:
        try:
            await self._keeper.questions.clean_up(run, task, args)
        except TenureError as problem:
            _log.error("nobody cleans up after %s: %s", run, problem, extra=run.about)
        finally:
            run.unrecorded -= 1
            self.recorded(run)
