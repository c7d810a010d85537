"""One life of a worker, from registering to leaving: what it holds, and what happens to it.

A worker that is declared dead never comes back as the same: it ends here, and another begins.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence, Set
from hashlib import sha256
from itertools import count
from typing import Any, TypeVar
from uuid import UUID

from tenure.config import Settings
from tenure.domain.lifecycle import Intent
from tenure.domain.tenant import Tenant
from tenure.errors import StoreUnavailable, TenureError
from tenure.observe.counting import Counting
from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.guarding import Guard
from tenure.runtime.keeper.asking import asked
from tenure.runtime.keeper.backoff import Backoff
from tenure.runtime.keeper.clock import DatabaseClock
from tenure.runtime.keeper.desks import Desks, ExchangeDesks
from tenure.runtime.keeper.exchange import Exchange
from tenure.runtime.keeper.ladder import Ladder
from tenure.runtime.keeper.lease import Lease
from tenure.runtime.keeper.looks import Looks
from tenure.runtime.keeper.questions import Questions
from tenure.runtime.keeper.reports import Reports
from tenure.runtime.keeper.run import Run
from tenure.runtime.keeper.runs import Runs
from tenure.runtime.keeper.staff import Staff
from tenure.runtime.keeper.stirs import Stirs
from tenure.runtime.keeper.stops import Stops
from tenure.runtime.messages import Kind
from tenure.store.call import Call
from tenure.store.calls import worker_calls
from tenure.store.results import Holding, Signal
from tenure.store.serial_connection import SerialConnection
from tenure.store.store import AsyncStore

_log = logging.getLogger("tenure.worker")

T = TypeVar("T")

_LAST_WORDS = 5.0  # seconds, at most


class Keeper:
    def __init__(
        self,
        url: str,
        settings: Settings,
        tenants: Sequence[Tenant] | None,
        queues: Sequence[str] | None,
        guard: Guard,
        staff: Staff,
    ) -> None:
        self.id: UUID = staff.worker
        self.database = sha256(url.encode()).hexdigest()  # to know it from others, and no more
        self.settings = settings
        self.queues = queues
        self.guard = guard
        self.clock = DatabaseClock()
        self.counts = Counting()  # as long as nobody wants more
        self.draining: str | None = None  # why
        self.asked_to_drain = asyncio.Event()
        self.ladder = Ladder(self)
        self.stops = Stops(self)
        self.looks = Looks(self)
        self.questions = Questions(self)
        self.lease = Lease(self, SerialConnection(url, settings))
        self.shared = AsyncStore(url, settings=settings)  # for what all tenants share
        self._stores: dict[str, AsyncStore] = {}
        self.tenants = None if tenants is None else [tenant.name for tenant in tenants]  # none: all
        self.exchanges: dict[str, Exchange] = {}
        self.reports: dict[str, Reports] = {}
        self.exchange_desks = ExchangeDesks()
        self.report_desk: Desks[Reports] = Desks()
        self.stirs = Stirs(self)
        self.chores: defaultdict[str, set[str]] = defaultdict(set)  # by name: where they are open
        self.report_numbers = count(1)
        self._tasks_of: Mapping[Kind, Sequence[str]] = {}
        self.staff = staff
        staff.keeper = self
        for name in self.tenants or ():
            self._admit(name)
        self.runs = Runs(self)
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

    def store(self, tenant: str) -> AsyncStore:
        if tenant not in self._stores:
            self._stores[tenant] = self.shared.of(Tenant(tenant))
        return self._stores[tenant]

    # Whom it serves.

    def serve(self, tasks: Mapping[Kind, Sequence[str]]) -> None:
        """From now on, with what its app can run."""
        self._tasks_of = tasks
        for name in self.exchanges:
            self._employ(name)

    def admit(self, tenants: Collection[str]) -> None:
        """Those that came meanwhile."""
        for name in tenants:
            if name not in self.exchanges:
                self._admit(name)

    def dismiss(self, gone: Set[str]) -> None:
        """Tenants that were dropped, with all that was theirs."""
        for run in self.runs:
            if run.tenant in gone and run.has_ended:
                self.runs.abandon(run)
            elif run.tenant in gone and not run.lost:
                self.drop(run, "its tenant was dropped")
        for name in gone - {run.tenant for run in self.runs}:
            self.exchanges.pop(name).close()
            self.reports.pop(name).close()
            self.staff.forget(name)

    def _admit(self, name: str) -> None:
        self.exchanges[name] = Exchange(self, Tenant(name))
        self.reports[name] = Reports(self, Tenant(name))
        self._employ(name)

    def _employ(self, name: str) -> None:
        for kind, tasks in self._tasks_of.items():
            self.exchanges[name].serve(self.staff.crew(kind, name), tasks)

    @property
    def may_claim(self) -> bool:
        return (
            self.draining is None
            and not self.guard.is_frozen
            and boottime() < self.lease.trusted_until
        )

    @property
    def is_idle(self) -> bool:
        """Nothing runs, and all that ended is recorded."""
        return not self.runs and all(exchange.is_quiet for exchange in self.exchanges.values())

    # What the database says.

    def hear(self, signal: Signal) -> None:
        run = self.runs.of(signal.tenant, signal.job_id, signal.token)
        if run is None:
            return
        if (look := signal.orders.get("inspection")) is not None:
            self.looks.hear(int(look), run)
        else:
            self.stops.hear(signal, run)

    def over_budget(self, tenant: str, job: int, message: str) -> None:
        run = self.runs.of(tenant, job)
        if run is not None and not run.overspent:
            run.overspent = True
            intent = Intent.PAUSE if run.limits.on_budget == "pause" else Intent.CANCEL
            self.stops.by_policy(run, "budget", intent, message)

    def refused(self, tenant: str, job: int, what: str, token: int | None = None) -> None:
        """Without a token it is about a run that is over; the job may have another by now."""
        _log.warning(
            "late write refused: %s of job %d is not this worker's any more",
            what,
            job,
            extra={"tenant": tenant, "job": job},
        )
        run = self.runs.of(tenant, job)
        if run is not None and run.job.token == token and run.runner is not None and not run.lost:
            run.lost = True
            self.lease.look_now()

    def unreportable(self, run: Run, problem: TenureError) -> None:
        _log.error("what %s said cannot be recorded: %s", run, problem, extra=run.about)

    async def thaw(self, lost: Sequence[Holding]) -> None:
        """The fence held: let the jobs go on, except those that are another's by now."""
        gone = {(holding.tenant, holding.job, holding.token) for holding in lost}
        for run in self.runs:
            if (run.tenant, run.job.id, run.job.token) in gone:
                self.drop(run, "it is another worker's by now")
        if self.guard.is_frozen:
            thawed = await self.guard.thaw()
            _log.warning("the database is back; jobs %s", "go on" if thawed else "stay frozen")
        for exchange in self.exchanges.values():
            exchange.wake()

    def drop(self, run: Run, why: str) -> None:
        """It is not ours any more: kill it, and say nothing about it."""
        _log.warning("%s is killed: %s", run, why, extra=run.about)
        run.lost = True
        if run.runner is None:
            self.runs.withdraw(run)
        elif not run.has_ended:
            self.start(self.staff.kill(run.runner))

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
        self.start(self.insisted(call, tenant))

    async def end_session(self, run: Run) -> None:
        call = worker_calls.end_session(self.id, run.job.id, run.job.token)
        await self.insisted(call, run.tenant)

    async def insisted(self, call: Call[T], tenant: str) -> T | None:
        """The answer; none where it refuses."""
        backoff = Backoff()
        while True:
            try:
                return await self.store(tenant).send(call)
            except StoreUnavailable as problem:
                await self.database_is_away(problem, backoff)
            except TenureError as problem:
                _log.info("%s: %s", call.verb, problem, extra={"tenant": tenant})
                return None

    def start(self, work: Any) -> None:
        """Something that goes on beside the rest."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def noticed(self, notice: str) -> None:
        """There are jobs of a tenant, or orders; without a word it may be both, and of anybody."""
        about, _, tenant = notice.partition(" ")
        if about != "jobs":
            self.lease.hear_now()
        if about == "jobs" and tenant in self.exchanges:
            self.exchanges[tenant].expect()
        elif about != "orders":
            self.stirs.look_now()

    async def say_too_late(self, line: SerialConnection) -> None:
        """What ended before this worker heard that it is dead. It is refused, and on record."""
        for name, exchange in self.exchanges.items():
            if endings := exchange.unsaid:
                try:
                    call = worker_calls.finish(self.id, endings)
                    refused = await asked(line, call, _LAST_WORDS, Tenant(name))
                except TenureError as problem:
                    _log.warning("what ended too late is not on record: %s", problem)
                else:
                    for job in refused.late:
                        self.refused(name, job, "its end")
        await line.close()

    async def leave(self) -> None:
        """Say goodbye; what is still held is recovered at once by others."""
        try:
            await self.shared.leave(self.id)
        except TenureError as problem:
            _log.warning("could not say goodbye: %s", problem)

    async def close(self) -> None:
        """Whatever it still wanted to do is for another to do."""
        left = [*self._tasks, *self.questions.tasks, *(run.climbing for run in self.runs)]
        for task in filter(None, left):
            task.cancel()
        await asyncio.gather(*filter(None, left), return_exceptions=True)

    def drain(self, reason: str) -> None:
        if self.draining is None:
            self.draining = reason
            _log.info("draining: %s; %d jobs run", reason, len(self.runs))
            self.asked_to_drain.set()

    def watch_guard(self) -> None:
        if self.guard.seems_stuck(boottime()):
            _log.error("the guard does not move: ending it")
            self.start(self.guard.end_it())
