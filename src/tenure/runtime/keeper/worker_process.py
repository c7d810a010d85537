"""The process of a worker: what is started in which order, and how it ends.

The task group below is the architecture of the process; leaving it is the shutdown.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import NamedTuple
from uuid import uuid4

from tenure.config import Settings
from tenure.domain.tenant import Tenant
from tenure.errors import (
    InputRefused,
    LeaseLost,
    SettingInvalid,
    StoreUnavailable,
    TenureError,
)
from tenure.observe import logs
from tenure.observe.counting import Counting, counting
from tenure.runtime.artifact_store import check_artifacts
from tenure.runtime.exit_code import ExitCode
from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.guard.system import PORTABLE
from tenure.runtime.guarding import Guard
from tenure.runtime.keeper.announcement import Announcement
from tenure.runtime.keeper.database.backoff import Backoff
from tenure.runtime.keeper.database.dispatcher import EXCHANGE_CONNECTIONS
from tenure.runtime.keeper.keeper import Keeper
from tenure.runtime.keeper.runs.runner_launcher import RunnerLauncher
from tenure.runtime.keeper.services.chores import maintenance
from tenure.runtime.keeper.services.host_cleanup import CLEAN_UP_EVERY, HostCleanup, log_reaped
from tenure.runtime.keeper.services.probes import Probes
from tenure.runtime.keeper.services.recovery import RecoveryService, every
from tenure.runtime.keeper.services.schedules import ScheduleService
from tenure.runtime.keeper.services.watchdog import Watchdog
from tenure.runtime.keeper.services.webhooks import WebhookService
from tenure.runtime.keeper.stops.drain import Drain, Drained
from tenure.runtime.leftovers import Reaped, WorkerFolder, reap
from tenure.runtime.messages import Hello
from tenure.store.notices import Notices
from tenure.store.serial_connection import SerialConnection

_log = logging.getLogger("tenure.worker")

_PORTABLE = (
    "portable mode, for development only: a process that leaves the tree of its job and clears its "
    "environment outlives a stop, and jobs outlive a worker that is killed as a whole"
)
_STABLE_AFTER = 60.0  # seconds with one guard, after which the next death starts a new backoff
_PROVE_EVERY = 8.0  # seconds; so a listener that gets no notices is found within 15


def _no_database(_settings: Settings) -> str:
    raise SettingInvalid(
        "database_url: no database is named; set TENURE_DATABASE_URL or pass --url"
    )


@dataclass(frozen=True)
class WorkerPlan:
    """The arguments with which a worker is started."""

    app: str  # "package.module:app"
    settings: Settings
    url: str | None = None  # None: the app's
    tenants: tuple[Tenant, ...] | None = ()  # None: all
    queues: tuple[str, ...] | None = None  # None: all
    changes: tuple[tuple[str, object], ...] = ()  # to the settings of the app
    embedded: Callable[[Settings], str] = _no_database  # returns the URL if there is no other


class GuardLost(TenureError):
    """The guard died, and all runners with it."""


class WorkerProcess:
    """A worker, under as many ids as it needs."""

    def __init__(self, plan: WorkerPlan) -> None:
        self._plan = plan
        self._drain: Drain | None = None
        self._asked: list[str] = []  # reasons of the requests to drain
        self._is_asked = asyncio.Event()
        self._reaped: list[Reaped] = []  # left by workers that were killed on this host
        self._counts: Counting | None = None  # under all its ids
        self._beginning: asyncio.Task[Begun] | None = None
        self.on_ready: Callable[[str], object] = lambda _worker: None

    def ask_to_drain(self, reason: str, grace: float | None = None) -> None:
        """Finish what runs and exit; asked again, hurry."""
        self._asked.append(reason)
        self._is_asked.set()
        if self._drain is not None:
            self._drain.grace = self._drain.grace if grace is None else grace
            self._drain.ask(reason)
        elif self._beginning is not None:
            self._beginning.cancel()

    async def run(self) -> ExitCode:
        self._reaped = await asyncio.to_thread(reap)
        if PORTABLE:
            _log.warning(_PORTABLE)
        try:
            return await self._run_until_drained()
        finally:
            if self._counts is not None:
                self._counts.close()

    async def _run_until_drained(self) -> ExitCode:
        backoff = Backoff(first=0.5, longest=30)
        while not self._asked:
            began = boottime()
            pause = 0.0
            try:
                return await self._run_worker()
            except* LeaseLost as lost:
                _log.error("%s: what it ran is killed; it starts again", lost.exceptions[0])
            except* GuardLost as lost:
                if boottime() - began > _STABLE_AFTER:
                    backoff.reset()
                pause = backoff.next()
                _log.error("%s; it starts again in %.1f s", lost.exceptions[0], pause)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._is_asked.wait()
            if self._asked:
                return ExitCode.HANDED_OVER
        return ExitCode.DRAINED

    async def _run_worker(self) -> ExitCode:
        async with AsyncExitStack() as stack:
            self._beginning = asyncio.create_task(self._begin(stack))
            try:
                begun = await self._beginning
            except asyncio.CancelledError:
                if not self._asked:
                    raise
                _log.info("leaving before it began: %s", self._asked[0])
                return ExitCode.DRAINED
            finally:
                self._beginning = None
            return await self._serve(begun, stack)

    async def _serve(self, begun: "Begun", stack: AsyncExitStack) -> ExitCode:
        keeper = begun.keeper
        self._drain = Drain(
            keeper.id,
            keeper.settings,
            keeper.draining,
            keeper.runs,
            keeper.stops,
            keeper.database.shared,
            keeper.tasks,
            keeper.is_idle,
        )
        for reason in self._asked:
            self._drain.ask(reason)
        self.on_ready(str(keeper.id))
        try:
            found, self._reaped = self._reaped, []
            return await _serve(begun, self._drain, found)
        except* LeaseLost:
            await stack.aclose()  # all that it ran is killed
            await keeper.flush_after_lease_lost(SerialConnection(begun.url, keeper.settings))
            raise
        finally:
            self._drain = None
            if keeper.draining.reason is not None and not self._asked:
                self._asked.append(keeper.draining.reason)  # do not start again
                self._is_asked.set()

    async def _begin(self, stack: AsyncExitStack) -> "Begun":
        plan, marker = self._plan, str(uuid4())
        place = stack.enter_context(WorkerFolder.claim(marker))
        guard = await Guard.start(marker=marker, freeze_max=plan.settings.freeze_max)
        stack.push_async_callback(guard.close)
        guard.trust_until(boottime() + plan.settings.import_timeout.total_seconds() + 60)
        worker = uuid4()
        launcher = RunnerLauncher(worker, guard, plan.app, plan.url, plan.settings.import_timeout)
        first = await launcher.first(may_fork=plan.settings.runner_start != "spawn")
        hello = first.hello.result()
        assert isinstance(hello, Hello)
        announced = Announcement(hello.announcement)
        settings = Settings(**{**hello.settings, **dict(plan.changes)})
        logs.change_format(settings.log_format)
        check_artifacts(settings.artifacts)
        first = await launcher.choose(first, settings.runner_start)
        url = plan.url or hello.url or plan.embedded(settings)
        keeper = Keeper(
            worker,
            url,
            settings,
            tenants=plan.tenants,
            queues=plan.queues,
            guard=guard,
            launcher=launcher,
            first_runner=first,
            folder=str(place.folder),
            counts=self._counting(settings),
        )
        stack.callback(keeper.pool.close)
        database = sha256(url.encode()).hexdigest()  # tells databases apart, and shows no password
        place.belongs_to(worker, database, launcher.starts_by)
        launcher.on_change = partial(place.belongs_to, worker, database)
        # What workers of other projects left is removed too, but is not this worker's business.
        self._reaped = [found for found in self._reaped if found.database == database]
        log_reaped(self._reaped)
        logs.every_line_is_about(worker=str(worker))
        await stack.enter_async_context(keeper.database.shared)
        stack.push_async_callback(keeper.tasks.close)
        await _register(keeper)
        await _until_answered(lambda: _announce(keeper, announced))
        if keeper.tenants is None:
            await _until_answered(keeper.activity_watch.run_once)
        return Begun(keeper, announced, url, database)

    def _counting(self, settings: Settings) -> Counting:
        if self._counts is None:
            self._counts = counting(settings)
            self._counts.reaped(sum(len(found.processes.killed) for found in self._reaped))
        return self._counts


class Begun(NamedTuple):
    """A worker that is registered and has imported its app."""

    keeper: Keeper
    announced: Announcement
    url: str
    database: str  # identifies it


async def _register(keeper: Keeper) -> None:
    async def register() -> None:
        asked_at = boottime()
        answer = await keeper.database.shared.register(
            keeper.id,
            socket.gethostname(),
            os.getpid(),
            keeper.settings.lease,
            keeper.queues,
            keeper.tenants,
            keeper.settings.capacity,
        )
        keeper.lease.trust_from(asked_at)
        expires_at = datetime.fromisoformat(answer["expires_at"])
        keeper.clock.learn(expires_at - keeper.settings.lease, asked_at)

    await _until_answered(register)


async def _announce(keeper: Keeper, announced: Announcement) -> None:
    try:
        await keeper.database.shared.announce(keeper.id, announced.catalogue)
    except InputRefused as problem:
        # Clients of the same app know its tasks: only jobs from SQL and by name need the catalogue.
        _log.error("the tasks of this worker were not announced: %s", problem)


async def _until_answered(ask: Callable[[], Awaitable[None]]) -> None:
    """Ask until the database answers, however long it is away; raise if waiting does not help."""
    backoff, reported = Backoff(), ""
    while True:
        try:
            await ask()
        except StoreUnavailable as problem:
            if not problem.may_pass:
                raise
            if str(problem) != reported:
                reported = str(problem)
                _log.warning("%s; waiting until it can", reported)
            await asyncio.sleep(backoff.next())
        else:
            return


async def _serve(begun: Begun, drain: Drain, reaped: Sequence[Reaped]) -> ExitCode:
    keeper, announced, url, database = begun
    settings, exchanges, store = keeper.settings, keeper.exchanges, keeper.database.store
    shared = keeper.database.shared
    keeper.serve(announced.tasks)
    notices = Notices(
        url, f"tenure_{keeper.id}", keeper.receive_notice, settings, prove_every=_PROVE_EVERY
    )
    keeper.counts.listens(lambda: notices.live)
    _log.info("worker %s runs %s", keeper.id, ", ".join(announced.names) or "nothing")
    ends: list[Drained] = []
    recovery = RecoveryService(settings, keeper.lease, keeper.database, exchanges)
    cleanup = HostCleanup(database, shared, recovery, keeper.counts, reaped)
    watchdog = Watchdog(
        worker=keeper.id,
        settings=settings,
        queues=None if keeper.queues is None else frozenset(keeper.queues),
        guard=keeper.guard,
        runs=keeper.runs,
        launcher=keeper.launcher,
        groups=keeper.groups,
        exchanges=exchanges,
        reports=keeper.reports,
        database=keeper.database,
        stops=keeper.stops,
        counts=keeper.counts,
        may_claim=keeper.may_claim,
    )
    probes = Probes(
        settings=settings,
        lease=keeper.lease,
        database=keeper.database,
        dispatcher=keeper.exchange_dispatcher,
        exchanges=exchanges,
        is_draining=keeper.draining.made.is_set,
        counts=keeper.counts,
    )
    chores = maintenance(settings, exchanges, keeper.activity, keeper.open_chores, store)
    webhooks = WebhookService(
        settings, exchanges, keeper.open_chores["webhooks"], store, keeper.counts, keeper.clock
    )
    try:
        async with asyncio.TaskGroup() as services:
            services.create_task(keeper.renewal.serve(), name="lease")
            services.create_task(notices.listen(), name="notices")
            for _ in range(EXCHANGE_CONNECTIONS):
                exchange = keeper.exchange_dispatcher.serve(SerialConnection(url, settings))
                services.create_task(exchange, name="exchange")
            reports = keeper.report_dispatcher.serve(SerialConnection(url, settings))
            services.create_task(reports, name="reports")
            activity = keeper.activity_watch.serve(lambda: notices.live)
            services.create_task(activity, name="activity")
            services.create_task(every(settings.recover_every, recovery.run_once), name="recovery")
            services.create_task(every(CLEAN_UP_EVERY, cleanup.run_once), name="host cleanup")
            for name, pause, run_once in chores:
                services.create_task(every(pause, run_once), name=name)
            services.create_task(webhooks.serve(), name="webhooks")
            services.create_task(watchdog.serve(), name="watchdog")
            services.create_task(probes.serve(), name="probes")
            services.create_task(drain.serve(), name="drain")
            services.create_task(_watch_guard(keeper), name="guard")
            if announced.schedules:
                schedules = ScheduleService(announced.schedules, keeper.clock, exchanges, store)
                services.create_task(schedules.serve(), name="schedules")
    except* Drained as drained:
        ends += (end for end in drained.exceptions if isinstance(end, Drained))
    await keeper.unregister()
    [end] = ends
    _log.info("worker %s has left; %d jobs had to be stopped", keeper.id, end.stopped)
    if end.hurried:
        return ExitCode.HURRIED
    await keeper.pool.quit()
    return ExitCode.HANDED_OVER if end.stopped else ExitCode.DRAINED


async def _watch_guard(keeper: Keeper) -> None:
    """After the death of the guard and all runners, give the jobs back before anything else."""
    await keeper.guard.died
    keeper.conclusions.give_back_waiting()
    try:
        async with asyncio.timeout(keeper.settings.lease.total_seconds()):
            while not keeper.is_idle():  # noqa: ASYNC110 - it depends on four things
                await asyncio.sleep(0.02)
    except TimeoutError:
        _log.warning("what it held comes back when its lease ends")
    else:
        await keeper.unregister()
    raise GuardLost("the guard died, and all runners with it")
