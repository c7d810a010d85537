"""The life of a worker: what is started in which order, and how it ends.

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
from tenure.runtime.guarding import Guard
from tenure.runtime.keeper.announced import Announced
from tenure.runtime.keeper.backoff import Backoff
from tenure.runtime.keeper.chores import rounds
from tenure.runtime.keeper.desks import EXCHANGE_DESKS
from tenure.runtime.keeper.drain import Drain, Drained
from tenure.runtime.keeper.keeper import Keeper
from tenure.runtime.keeper.neighbours import LOOK_EVERY, Neighbours, say_reaped
from tenure.runtime.keeper.schedules import Schedules
from tenure.runtime.keeper.services import Recovery, every
from tenure.runtime.keeper.staff import Staff
from tenure.runtime.keeper.watch import Watch
from tenure.runtime.leftovers import Reaped, WorkerFolder, reap
from tenure.store.notices import Notices
from tenure.store.serial_connection import SerialConnection

_log = logging.getLogger("tenure.worker")

_STABLE_AFTER = 60.0  # seconds that an identity lasted: the next death of a guard is a new trouble
_PROVE_EVERY = 8.0  # seconds; so a listener that has fallen deaf is missed within 15


def _nowhere(_settings: Settings) -> str:
    raise SettingInvalid("database_url: neither the command nor the app says where the jobs are")


@dataclass(frozen=True)
class Plan:
    """What a worker is started with."""

    app: str  # "package.module:app"
    settings: Settings
    url: str | None = None  # none: what the app says
    tenants: tuple[Tenant, ...] | None = ()  # none: all there are
    queues: tuple[str, ...] | None = None  # none: all
    changes: tuple[tuple[str, object], ...] = ()  # to the settings of the app
    embedded: Callable[[Settings], str] = _nowhere  # the URL, where neither says one


class GuardLost(TenureError):
    """The guard died, and all runners with it."""


class Life:
    """One worker, through as many identities as it needs."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._drain: Drain | None = None
        self._asked: list[str] = []  # to leave, and why
        self._is_asked = asyncio.Event()
        self._reaped: list[Reaped] = []  # what workers left that were killed on this host
        self._counts: Counting | None = None  # of all its identities
        self._beginning: asyncio.Task[Begun] | None = None
        self.on_ready: Callable[[str], object] = lambda _worker: None

    def ask_to_drain(self, reason: str, grace: float | None = None) -> None:
        """Finish what runs and leave. Asked again, hurry."""
        self._asked.append(reason)
        self._is_asked.set()
        if self._drain is not None:
            self._drain.grace = self._drain.grace if grace is None else grace
            self._drain.ask(reason)
        elif self._beginning is not None:
            self._beginning.cancel()

    async def run(self) -> ExitCode:
        self._reaped = await asyncio.to_thread(reap)
        try:
            return await self._live_on()
        finally:
            if self._counts is not None:
                self._counts.close()

    async def _live_on(self) -> ExitCode:
        backoff = Backoff(first=0.5, longest=30)
        while not self._asked:
            began = boottime()
            pause = 0.0
            try:
                return await self._live()
            except* LeaseLost as lost:
                _log.error("%s: what it ran is killed; it starts anew", lost.exceptions[0])
            except* GuardLost as lost:
                if boottime() - began > _STABLE_AFTER:
                    backoff.reset()
                pause = backoff.next()
                _log.error("%s; it starts anew in %.1f s", lost.exceptions[0], pause)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._is_asked.wait()
            if self._asked:
                return ExitCode.HANDED_OVER
        return ExitCode.DRAINED

    async def _live(self) -> ExitCode:
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
        keeper, announced, url = begun
        self._drain = Drain(keeper)
        for reason in self._asked:
            self._drain.ask(reason)
        self.on_ready(str(keeper.id))
        try:
            found, self._reaped = self._reaped, []
            return await _serve(keeper, announced, self._drain, url, found)
        except* LeaseLost:
            await stack.aclose()  # all that it ran is killed
            await keeper.say_too_late(SerialConnection(url, keeper.settings))
            raise
        finally:
            self._drain = None
            if keeper.draining is not None and not self._asked:
                self._asked.append(keeper.draining)  # the next life is not wanted either
                self._is_asked.set()

    async def _begin(self, stack: AsyncExitStack) -> "Begun":
        plan, marker = self._plan, str(uuid4())
        place = stack.enter_context(WorkerFolder.claim(marker))
        guard = await Guard.start(marker=marker, freeze_max=plan.settings.freeze_max)
        stack.push_async_callback(guard.close)
        guard.trust_until(boottime() + plan.settings.import_timeout.total_seconds() + 60)
        staff = Staff(guard, plan.app, plan.url, str(place.folder), plan.settings.import_timeout)
        stack.callback(staff.close)
        hello = await staff.announce()
        announced = Announced(hello.announcement)
        settings = Settings(**{**hello.settings, **dict(plan.changes)})
        logs.change_format(settings.log_format)
        check_artifacts(settings.artifacts)
        url = plan.url or hello.url or plan.embedded(settings)
        keeper = Keeper(url, settings, plan.tenants, plan.queues, guard, staff)
        keeper.counts = self._counting(settings)
        place.belongs_to(keeper.id, keeper.database)
        # What workers of other projects left is cleared away too, but concerns nobody here.
        self._reaped = [found for found in self._reaped if found.database == keeper.database]
        say_reaped(self._reaped)
        logs.every_line_is_about(worker=str(keeper.id))
        await stack.enter_async_context(keeper.shared)
        stack.push_async_callback(keeper.close)
        await _register(keeper)
        await _until_answered(lambda: _announce(keeper, announced))
        if keeper.tenants is None:
            await _until_answered(keeper.stirs.run_once)
        return Begun(keeper, announced, url)

    def _counting(self, settings: Settings) -> Counting:
        if self._counts is None:
            self._counts = counting(settings)
            self._counts.reaped(sum(len(found.processes.killed) for found in self._reaped))
        return self._counts


class Begun(NamedTuple):
    """A worker that is registered, and has an app."""

    keeper: Keeper
    announced: Announced
    url: str


async def _register(keeper: Keeper) -> None:
    async def register() -> None:
        asked_at = boottime()
        answer = await keeper.shared.register(
            keeper.id,
            socket.gethostname(),
            os.getpid(),
            keeper.settings.lease,
            keeper.queues,
            keeper.tenants,
        )
        keeper.lease.begins(asked_at)
        expires_at = datetime.fromisoformat(answer["expires_at"])
        keeper.clock.learn(expires_at - keeper.settings.lease, asked_at)

    await _until_answered(register)


async def _announce(keeper: Keeper, announced: Announced) -> None:
    try:
        await keeper.shared.announce(keeper.id, announced.catalogue)
    except InputRefused as problem:
        # Its own clients know its tasks: only jobs from SQL and by name need the catalogue.
        _log.error("the tasks of this worker were not announced: %s", problem)


async def _until_answered(ask: Callable[[], Awaitable[None]]) -> None:
    """Ask until the database answers, however long it is away; not where waiting does not help."""
    backoff, told = Backoff(), ""
    while True:
        try:
            await ask()
        except StoreUnavailable as problem:
            if not problem.may_pass:
                raise
            if str(problem) != told:
                told = str(problem)
                _log.warning("%s; waiting until it can", told)
            await asyncio.sleep(backoff.next())
        else:
            return


async def _serve(
    keeper: Keeper, announced: Announced, drain: Drain, url: str, reaped: Sequence[Reaped]
) -> ExitCode:
    settings = keeper.settings
    keeper.serve(announced.tasks)
    notices = Notices(
        url, f"tenure_{keeper.id}", keeper.noticed, settings, prove_every=_PROVE_EVERY
    )
    keeper.counts.listens(lambda: notices.live)
    _log.info("worker %s runs %s", keeper.id, ", ".join(announced.names) or "nothing")
    ends: list[Drained] = []
    recovery = Recovery(keeper)
    neighbours = Neighbours(keeper, recovery, reaped)
    try:
        async with asyncio.TaskGroup() as services:
            services.create_task(keeper.lease.serve(), name="lease")
            services.create_task(notices.listen(), name="notices")
            for _ in range(EXCHANGE_DESKS):
                desk = keeper.exchange_desks.serve(SerialConnection(url, settings))
                services.create_task(desk, name="exchange")
            services.create_task(
                keeper.report_desk.serve(SerialConnection(url, settings)), name="reports"
            )
            services.create_task(keeper.stirs.serve(lambda: notices.live), name="stirs")
            services.create_task(every(settings.recover_every, recovery.run_once), name="recovery")
            services.create_task(every(LOOK_EVERY, neighbours.run_once), name="neighbours")
            for name, pause, run_once in rounds(keeper):
                services.create_task(every(pause, run_once), name=name)
            services.create_task(Watch(keeper).serve(), name="watch")
            services.create_task(drain.serve(), name="drain")
            services.create_task(_watch(keeper), name="guard")
            if announced.schedules:
                services.create_task(
                    Schedules(keeper, announced.schedules).serve(), name="schedules"
                )
    except* Drained as drained:
        ends += (end for end in drained.exceptions if isinstance(end, Drained))
    await keeper.leave()
    [end] = ends
    _log.info("worker %s has left; %d jobs had to be stopped", keeper.id, end.stopped)
    if end.hurried:
        return ExitCode.HURRIED
    await keeper.staff.dismiss()
    return ExitCode.HANDED_OVER if end.stopped else ExitCode.DRAINED


async def _watch(keeper: Keeper) -> None:
    """A dead guard has taken its runners with it: give their jobs back before anything else."""
    await keeper.guard.died
    keeper.runs.give_back_waiting()
    try:
        async with asyncio.timeout(keeper.settings.lease.total_seconds()):
            while not keeper.is_idle:  # noqa: ASYNC110 - it hangs on four things
                await asyncio.sleep(0.02)
    except TimeoutError:
        _log.warning("what it held comes back when its lease ends")
    else:
        await keeper.leave()
    raise GuardLost("the guard died, and all runners with it")
