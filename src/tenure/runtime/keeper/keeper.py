"""One life of a worker, from registering to leaving: what it holds, and what happens to it.

A worker that is declared dead never comes back as the same: it ends here, and another begins.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import count
from typing import Any, TypeVar
from uuid import UUID, uuid4

import msgspec

from tenure.config import Settings
from tenure.domain.job import JSON
from tenure.domain.lifecycle import Intent
from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused, StoreUnavailable, TenureError
from tenure.runtime.guarding import Ended as Exit
from tenure.runtime.guarding import Guard
from tenure.runtime.keeper import deaths
from tenure.runtime.keeper.backoff import Backoff
from tenure.runtime.keeper.clock import DatabaseClock, boottime
from tenure.runtime.keeper.crew import Assignment, Crew
from tenure.runtime.keeper.exchange import Exchange
from tenure.runtime.keeper.ladder import Ladder
from tenure.runtime.keeper.lease import Lease
from tenure.runtime.keeper.questions import Questions
from tenure.runtime.keeper.reports import Reports
from tenure.runtime.keeper.run import Limits, Run
from tenure.runtime.keeper.runners import Runner
from tenure.runtime.keeper.staff import Staff
from tenure.runtime.keeper.stops import Stops
from tenure.runtime.keeper.storable import refuse_no_json, storable
from tenure.runtime.keeper.verdicts import ending, killed
from tenure.runtime.messages import (
    Ended,
    Endings,
    FromRunner,
    Interrupting,
    Question,
    Said,
    Sayings,
    Work,
)
from tenure.store.call import Call
from tenure.store.calls import working
from tenure.store.line import Line
from tenure.store.outcomes import Ending
from tenure.store.results import Claimed, Holding, Signal
from tenure.store.store import AsyncStore

_log = logging.getLogger("tenure.worker")
_BUSY_PAUSE = 0.02

T = TypeVar("T")

_numbers = count(1)  # of runs; never used again in this process


class Keeper:
    def __init__(
        self,
        url: str,
        settings: Settings,
        tenants: Sequence[Tenant],
        queues: Sequence[str] | None,
        guard: Guard,
        staff: Staff,
    ) -> None:
        self.id: UUID = uuid4()
        self.settings = settings
        self.queues = queues
        self.guard = guard
        self.clock = DatabaseClock()
        self.runs: dict[int, Run] = {}
        self.draining: str | None = None  # why
        self.asked_to_drain = asyncio.Event()
        self.ladder = Ladder(self)
        self.stops = Stops(self)
        self.questions = Questions(self)
        self.lease = Lease(self, Line(url, settings))
        self._by_job: dict[tuple[str, int], Run] = {}
        self._tenants = {tenant.name: tenant for tenant in tenants}
        self._stores = {tenant.name: AsyncStore(url, tenant, settings) for tenant in tenants}
        self.exchanges = {name: Exchange(self, name) for name in self._tenants}
        self.reports = {name: Reports(self, name) for name in self._tenants}
        self.staff = staff
        staff.keeper = self
        self._defaults = Limits({}, settings)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._away = False
        self.runner_settings: Mapping[str, Any] = {
            "threads": settings.threads,
            "stop_grace": settings.stop_grace.total_seconds(),
            "artifacts": settings.artifacts or str(settings.folder.absolute() / "artifacts"),
            "max_artifact_bytes": settings.max_artifact_bytes,
            "max_result_bytes": settings.max_result_bytes,
            "max_log_lines": settings.max_log_lines,
            "lease": settings.lease.total_seconds(),
            "url": url,
        }

    # Who it is.

    def tenant(self, name: str) -> Tenant:
        return self._tenants[name]

    def store(self, tenant: str) -> AsyncStore:
        return self._stores[tenant]

    @property
    def stores(self) -> list[AsyncStore]:
        return list(self._stores.values())

    @property
    def may_claim(self) -> bool:
        return (
            self.draining is None
            and not self.guard.is_frozen
            and boottime() < self.lease.trusted_until
        )

    def knows(self, tenant: str, job: int, token: int) -> bool:
        run = self._by_job.get((tenant, job))
        return run is not None and run.job.token == token

    @property
    def is_idle(self) -> bool:
        """Nothing runs, and all that ended is recorded."""
        return not self.runs and all(exchange.is_quiet for exchange in self.exchanges.values())

    # From claim to end.

    def claimed(self, tenant: str, crew: Crew, jobs: Sequence[Claimed]) -> None:
        assignments: list[Assignment] = []
        for job in jobs:
            try:
                limits = Limits(job.options, self.settings) if job.options else self._defaults
            except InputRefused as refusal:
                self.exchanges[tenant].finish([unreadable(job, refusal)])
                continue
            run = Run(next(_numbers), tenant, job, limits)
            self.runs[run.number] = run
            self._by_job[tenant, job.id] = run
            assignments.append((run, _work(run)))
            if job.options:
                self.stops.set_timers(run)
            _log.debug(
                "worker %s claimed job %d (%s, attempt %d)", self.id, job.id, job.task, job.attempt
            )
        crew.assign(assignments)

    def heard(self, runner: Runner, message: FromRunner) -> None:
        match message:
            case Endings(ended):
                self._ended(runner, ended)
            case Sayings(said):
                for one in said:
                    if run := runner.runs.get(one.run):
                        self.reports[run.tenant].add(run, one)
            case Interrupting(number):
                if number in runner.runs:
                    runner.passed_on.add(number)
            case Question():
                self.questions.hear(runner, message)

    def printed(self, runner: Runner, stream: str, line: str) -> None:
        """A line on the standard output of a runner."""
        run = next(iter(runner.runs.values()), None) if runner.kind == "process" else None
        if run is None:
            _log.info("%s %s: %s", runner.name, stream, line)
        elif run.may_print(self.settings.max_log_lines):
            self.reports[run.tenant].add(run, Said(run.number, logs=((stream, line),)))

    def _ended(self, runner: Runner, ended: Sequence[Ended]) -> None:
        now = self.clock.now()
        runner.output.drain()
        done = []
        for one in ended:
            run = runner.runs.get(one.run)
            if run is None:
                continue
            told = self._recordable(run, partial(self._told, run, one, now))
            self._clean_up_again(run, one)
            if one.left:
                self._wait_for_the_rest(runner, run, told, one.left)
            else:
                done.append((run, told))
        self._conclude(runner, done)

    def _told(self, run: Run, ended: Ended, now: datetime) -> Ending | None:
        if ended.how == "completed":
            refuse_no_json(ended.value)
        return ending(run, ended, now, self.settings.on_drain)

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
        now = self.clock.now()
        return self._recordable(run, lambda: killed(run, now, self.settings.on_drain))

    def _conclude(self, runner: Runner, done: Sequence[tuple[Run, Ending | None]]) -> None:
        """Their code is gone: hand their endings over, when all they said is recorded."""
        endings = []
        for run, told in done:
            self._end(runner, run)
            run.ending = told
            if told is None:
                self._forget(run)
                self.exchanges[run.tenant].promote_soon()
            elif run.lost:
                self._forget(run)  # what became of it is another worker's to say
            elif not run.unrecorded:
                endings.append(told)
                self._forget(run)
        if runner.tenant is not None:
            self.exchanges[runner.tenant].finish(endings)
        self._make_room(runner, len(done))

    def _end(self, runner: Runner, run: Run) -> None:
        runner.runs.pop(run.number, None)
        runner.passed_on.discard(run.number)
        runner.done += 1
        self._say_what_was_dropped(run)
        run.end()

    def _make_room(self, runner: Runner, n: int) -> None:
        if self._is_worn_out(runner):
            self.staff.retire(runner)
        crew = self.staff.crews.get((runner.tenant or "", runner.kind or "async"))
        if crew is not None:
            crew.ended(n)

    def _say_what_was_dropped(self, run: Run) -> None:
        dropped = run.lines - self.settings.max_log_lines
        if dropped > 0:
            line = f"{dropped} lines of output were dropped: the limit of a job was reached"
            self.reports[run.tenant].add(run, Said(run.number, logs=(("warning", line),)))

    def recorded(self, run: Run) -> None:
        """All that this run said until now is recorded; its ending may follow.

        Not while its runner still has to end: until then its code is not gone.
        """
        through = run.has_ended and not run.unrecorded and self.runs.get(run.number) is run
        if through and run.ending is not None:
            self._forget(run)
            self.exchanges[run.tenant].finish([run.ending])

    def _forget(self, run: Run) -> None:
        self.runs.pop(run.number, None)
        if self._by_job.get((run.tenant, run.job.id)) is run:
            del self._by_job[run.tenant, run.job.id]
        self.stops.forget(run)

    def withdraw(self, run: Run) -> bool:
        """Stop a run that has no runner yet; whether that could be done."""
        for crew in self.staff.crews.values():
            if crew.withdraw(run):
                run.end()
                self._forget(run)
                if not run.lost and (told := self._killed(run)) is not None:
                    self.exchanges[run.tenant].finish([told])
                return True
        return False

    def _wait_for_the_rest(self, runner: Runner, run: Run, told: Ending | None, left: str) -> None:
        """Its code has ended, but not all it started: it counts when the runner is gone."""
        run.ending = told
        run.end_waits = True
        if runner.kind == "process":
            runner.killed = runner.retired = True
            self.start(self.guard.kill(runner.pid))
            return
        _log.warning("%s left %s behind: %s takes nothing new", run, left, runner.name)
        self.staff.retire(runner)
        self.start(self._kill_when_alone(runner))

    async def _kill_when_alone(self, runner: Runner) -> None:
        """Let the neighbours finish first, for a while."""
        patience = self.settings.stop_grace.total_seconds()
        for run in list(runner.runs.values()):
            if not run.end_waits:
                started = asyncio.get_running_loop().time()
                await run.ends_within(patience)
                patience -= asyncio.get_running_loop().time() - started
        runner.killed = True
        await self.guard.kill(runner.pid)

    def runner_lost(self, runner: Runner, how: Exit | None) -> None:
        """A runner and all below it are gone."""
        runs = list(runner.runs.values())
        if not runs:
            return
        done: list[tuple[Run, Ending | None]] = []
        # Its death was not its own doing: a guard also kills what was frozen for too long.
        innocent = (
            runner.killed
            or self.guard.is_gone
            or not runner.ready.is_set()
            or boottime() >= self.lease.trusted_until
        )
        blamed = None if innocent else deaths.culprit(runner, runs)
        for run in runs:
            if run.end_waits:
                done.append((run, run.ending))
            elif run.killed:
                done.append((run, self._killed(run)))
            elif run is blamed:
                self._end(runner, run)
                self.start(self._charge(run, deaths.crash(run, runner, how)))
            else:
                suspect = blamed is None and not innocent
                done.append((run, deaths.give_back(run, suspect=suspect)))
        if not innocent:
            _log.error(
                "%s (pid %d) died: %s; charged: %s; given back: %d",
                runner.name,
                runner.pid,
                how,
                blamed or "nobody",
                len(done),
            )
        self._conclude(runner, done)
        self._make_room(runner, len(runs) - len(done))

    async def _charge(self, run: Run, crash: Ending) -> None:
        """A crash is told when all that its job had said is recorded; until then it is ours."""
        if run.unrecorded:
            with suppress(TenureError):
                await self.reports[run.tenant].flushed(run)
        while (told := await self._insist(working.crash(self.id, [crash]), run.tenant)) is not None:
            if not told.busy:
                break
            await asyncio.sleep(_BUSY_PAUSE)
        self._forget(run)
        self.exchanges[run.tenant].promote_soon()

    def _is_worn_out(self, runner: Runner) -> bool:
        if runner.kind != "process":
            return runner.retired or (runner.alone and not runner.runs)
        return (
            runner.done >= self.settings.recycle_after
            or runner.memory > self.settings.recycle_above
        )

    def _clean_up_again(self, run: Run, ended: Ended) -> None:
        """What could not be closed is tried again by jobs."""
        for task, args in ended.again:
            _log.warning("a resource of %s could not be closed; %s goes on trying", run, task)
            run.unrecorded += 1  # its ending waits, so that a crash now does not lose the clean-up
            self.start(self._clean_up_later(run, task, args))

    async def _clean_up_later(self, run: Run, task: str, args: Mapping[str, JSON]) -> None:
        try:
            await self.questions.clean_up(run, task, args)
        except TenureError as problem:
            _log.error("nobody cleans up after %s: %s", run, problem)
        finally:
            run.unrecorded -= 1
            self.recorded(run)

    # What the database says.

    def hear(self, signal: Signal) -> None:
        run = self._by_job.get((signal.tenant, signal.job_id))
        if run is not None and run.job.token == signal.token:
            self.stops.hear(signal, run)

    def over_budget(self, tenant: str, job: int, message: str) -> None:
        run = self._by_job.get((tenant, job))
        if run is not None and not run.overspent:
            run.overspent = True
            intent = Intent.PAUSE if run.limits.on_budget == "pause" else Intent.CANCEL
            self.stops.by_policy(run, "budget", intent, message)

    def refused(self, tenant: str, job: int, what: str, token: int | None = None) -> None:
        """Without a token it is about a run that is over; the job may have another by now."""
        _log.warning("late write refused: %s of job %d is not this worker's any more", what, job)
        run = self._by_job.get((tenant, job))
        if run is not None and run.job.token == token and run.runner is not None and not run.lost:
            run.lost = True
            self.lease.look_now()

    def unreportable(self, run: Run, problem: TenureError) -> None:
        _log.error("what %s said cannot be recorded: %s", run, problem)

    async def thaw(self, lost: Sequence[Holding]) -> None:
        """The fence held: let the jobs go on, except those that are another's by now."""
        gone = {(holding.tenant, holding.job, holding.token) for holding in lost}
        for run in list(self.runs.values()):
            if (run.tenant, run.job.id, run.job.token) in gone:
                self.drop(run)
        if self.guard.is_frozen:
            thawed = await self.guard.thaw()
            _log.warning("the database is back; jobs %s", "go on" if thawed else "stay frozen")
        for exchange in self.exchanges.values():
            exchange.wake()

    def drop(self, run: Run) -> None:
        """It is not ours any more: kill it, and say nothing about it."""
        _log.warning("%s is another worker's by now: killed", run)
        run.lost = True
        if run.runner is None:
            self.withdraw(run)
        elif not run.has_ended:
            run.runner.killed = run.runner.retired = True
            self.start(self.guard.kill(run.runner.pid))

    # What it asks of the database.

    async def database_is_away(self, problem: TenureError, backoff: Backoff) -> None:
        self.note_outage(problem)
        await asyncio.sleep(backoff.next())

    def note_outage(self, problem: TenureError) -> None:
        if not self._away:
            self._away = True
            _log.warning(
                "%s; jobs go on until %.1f s from now",
                problem,
                self.lease.trusted_until - boottime(),
            )

    def back(self) -> None:
        if self._away:
            self._away = False
            _log.info("the database answers again")

    def insist(self, call: Call[Any], tenant: str) -> None:
        """Say this to the database, however long it takes."""
        self.start(self._insist(call, tenant))

    async def end_session(self, run: Run) -> None:
        call = working.end_session(self.id, run.job.id, run.job.token)
        await self._insist(call, run.tenant)

    def try_once(self, call: Call[Any], tenant: str) -> None:
        self.start(self._try(call, tenant))

    async def _insist(self, call: Call[T], tenant: str) -> T | None:
        """The answer; none where it refuses."""
        backoff = Backoff()
        while True:
            try:
                return await self.store(tenant).send(call)
            except StoreUnavailable as problem:
                await self.database_is_away(problem, backoff)
            except TenureError as problem:
                _log.info("%s: %s", call.verb, problem)
                return None

    async def _try(self, call: Call[Any], tenant: str) -> None:
        try:
            await self.store(tenant).send(call)
        except TenureError as problem:
            _log.debug("%s: %s", call.verb, problem)

    def start(self, work: Any) -> None:
        """Something that goes on beside the rest."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def noticed(self, about: str) -> None:
        """There are jobs for this worker, or orders; without a word it may be both."""
        if about != "jobs":
            self.lease.look_now()
        if about != "orders":
            for exchange in self.exchanges.values():
                exchange.wake()

    async def leave(self) -> None:
        """Say goodbye; what is still held is recovered at once by others."""
        try:
            await self.stores[0].leave(self.id)
        except TenureError as problem:
            _log.warning("could not say goodbye: %s", problem)

    def drain(self, reason: str) -> None:
        if self.draining is None:
            self.draining = reason
            _log.info("draining: %s; %d jobs run", reason, len(self.runs))
            self.asked_to_drain.set()

    def watch_guard(self) -> None:
        if self.guard.seems_stuck(boottime()):
            _log.error("the guard does not move: ending it")
            self.start(self.guard.end_it())


def unreadable(job: Claimed, refusal: InputRefused) -> Ending:
    """A job that cannot even be started ends there, and nowhere else."""
    _log.warning("job %d: %s", job.id, refusal)
    error = {"type": "tenure.InputRefused", "message": str(refusal)}
    return Ending(job=job.id, token=job.token, outcome="failed", error=error)


def _work(run: Run) -> Work:
    job = run.job
    return Work(
        run.number,
        job.id,
        job.token,
        job.task,
        job.queue,
        job.raw_args,
        job.attempt,
        job.max_attempts,
        job.crashes,
        job.priority,
        job.owner,
        job.root_id,
        job.parent_id,
        job.key,
        job.target,
        job.slots,
        job.raw_checkpoint,
        run.limits.close_timeout.total_seconds(),
        run.limits.preserve_artifacts,
    )
