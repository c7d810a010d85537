"""All runners of a worker: those at work, and an imported spare for whoever needs one next."""

import asyncio
import logging
import os
from collections.abc import Coroutine, Sequence
from datetime import timedelta
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tenure.errors import GuardUnavailable, TenureError
from tenure.runtime.guard.processes import ATTEMPT, ROOM_FOR_ATTEMPT
from tenure.runtime.guarding import Exit, Guard, Killed
from tenure.runtime.keeper.backoff import Backoff
from tenure.runtime.keeper.crew import Crew, Room
from tenure.runtime.keeper.run import Run
from tenure.runtime.keeper.runners import Runner
from tenure.runtime.keeper.storable import storable
from tenure.runtime.messages import Broken, FromRunner, Hello, Kind
from tenure.runtime.temporary import remove

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

_log = logging.getLogger("tenure.worker")

_TRUST_EVERY = 0.2  # seconds between two tries while trust has run out
_DISMISSED = 2.0  # seconds, at most, for idle runners to end by themselves
_LOOK_EVERY = 0.01
_MOST_TROUBLE = 1000  # characters
_MOST_JOBS = 1000  # of one runner in its description
_IDLE = 6  # runners, beside a process for each function that may run at once


class ImportFailed(TenureError):
    """The module with the task functions cannot be imported."""

    def __init__(self, sentence: str, traceback: str = "") -> None:
        super().__init__(sentence)
        self.traceback = traceback


class Staff:
    def __init__(
        self, guard: Guard, app: str, url: str | None, folder: str, import_timeout: timedelta
    ) -> None:
        self.keeper: Keeper  # comes when the app has said what it can run
        self.worker = uuid4()  # the id by which the database will know this worker
        self._guard = guard
        self._app = app
        # What the worker was told about the database holds for the code of its jobs too.
        database = {"TENURE_DATABASE_URL": url} if url else {}
        self._env = {**os.environ, **database, ATTEMPT: ROOM_FOR_ATTEMPT}
        self._folder = folder
        self._import_timeout = import_timeout.total_seconds()
        self._numbers = count(1)
        self._runners: dict[int, Runner] = {}
        self._gone_early: dict[int, Exit] = {}  # before we heard that they were there
        self._spare: asyncio.Task[Runner] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._turns = asyncio.Semaphore(max(2, os.cpu_count() or 1))  # more at once is no faster
        self._rooms: dict[Kind, Room] = {}
        self.trouble: str | None = None  # why no runner can be started, if none can
        self.crews: dict[tuple[str, Kind], Crew] = {}
        guard.on_exit = self._exited

    async def announce(self) -> Hello:
        """What the first runner says that its app can run."""
        runner = await self._spawn(announces=True)
        self._spare = asyncio.create_task(_at_once(runner))
        hello = runner.hello.result()
        assert isinstance(hello, Hello)
        return hello

    def crew(self, kind: Kind, tenant: str) -> Crew:
        """For the jobs of a tenant, in the room there is for those of all."""
        if kind not in self._rooms:
            settings = self.keeper.settings
            size = {
                "async": settings.concurrency,
                "thread": settings.threads,
                "process": settings.processes,
            }[kind]
            self._rooms[kind] = Room(size, self.keeper.exchange_desks.there_is_room)
        made = self.crews[tenant, kind] = Crew(kind, tenant, self._rooms[kind], self._ask_for_one)
        return made

    def forget(self, tenant: str) -> None:
        """A tenant that is gone, and has nothing running."""
        for place in [place for place in self.crews if place[0] == tenant]:
            for runner in self.crews.pop(place).runners:
                self.retire(runner)

    @property
    def runners(self) -> list[Runner]:
        return list(self._runners.values())

    def described(self) -> dict[str, dict[str, Any]]:
        """Describe the runners that serve a tenant, by id, for those who want to end one."""
        return {
            runner.name: {
                "tenant": runner.tenant,
                "kind": runner.kind,
                "pid": runner.pid,
                "jobs": {
                    run.job.id: run.job.token for run in islice(runner.runs.values(), _MOST_JOBS)
                },
            }
            for runner in self.runners
            if runner.tenant is not None
        }

    def retire(self, runner: Runner) -> None:
        """It takes nothing new, and ends when it has nothing left."""
        runner.retired = True
        if not runner.runs:
            runner.quit()

    def kill(self, runner: Runner) -> Coroutine[Any, Any, Killed]:
        """With all that runs in it. From now on it takes nothing new, and its death is no crash."""
        runner.killed = runner.retired = True
        return self._guard.kill(runner.pid)

    def remove_files(self, runs: Sequence[Run]) -> None:
        """The temporary directories of runs whose runner is gone."""
        for run in runs:
            folder = Path(self._folder) / str(run.number)
            if folder.exists():
                self.keeper.start(asyncio.to_thread(remove, folder))

    def _ask_for_one(self, crew: Crew) -> None:
        task = asyncio.create_task(self._provide(crew))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def dismiss(self) -> None:
        """Those that have nothing to do may end by themselves: some have spans to hand over."""
        idle = [one for one in self.runners if one.hello.done() and not one.runs]
        for runner in idle:
            runner.quit()
        until = asyncio.get_running_loop().time() + _DISMISSED
        while any(one.pid in self._runners for one in idle):
            if asyncio.get_running_loop().time() >= until:
                return
            await asyncio.sleep(_LOOK_EVERY)

    def close(self) -> None:
        """Nobody needs a further runner."""
        for task in [*self._tasks, *filter(None, [self._spare])]:
            task.cancel()

    async def _provide(self, crew: Crew) -> None:
        runner = await self._next(crew)
        if self.crews.get((crew.tenant, crew.kind)) is not crew:
            self.retire(runner)  # its tenant is gone
            return
        runner.begin(
            crew.kind,
            crew.tenant,
            str(self.keeper.id),
            self.keeper.runner_settings,
            self._folder,
        )
        crew.join(runner)
        self.keeper.exchanges[crew.tenant].wake()
        self._dismiss_idle()

    def _dismiss_idle(self) -> None:
        """Runners of tenants that have had nothing for them for longest."""
        crews = self.crews.values()
        idle = [one for crew in crews for one in crew.runners if not one.runs and not one.retired]
        idle.sort(key=lambda runner: runner.idle_since)
        for runner in idle[: max(0, len(idle) - self.keeper.settings.processes - _IDLE)]:
            self.retire(runner)

    async def _next(self, crew: Crew) -> Runner:
        """The spare, with another one on its way."""
        backoff = Backoff(first=0.5, longest=30)
        while True:
            spare, self._spare = self._spare or asyncio.create_task(self._spawn()), None
            try:
                runner = await spare
            except GuardUnavailable as problem:
                _log.debug("no runner can be started now: %s", problem)
                await asyncio.sleep(_TRUST_EVERY)
                continue
            except (ImportFailed, OSError) as problem:
                _log.error("no runner can be started: %s", problem)
                self.trouble = storable(str(problem)[:_MOST_TROUBLE])
                crew.is_stuck = True  # jobs are for workers that have one
                self.keeper.runs.give_back_waiting(crew)
                await asyncio.sleep(backoff.next())
                continue
            if self._spare is None and self.keeper.may_claim:
                self._spare = asyncio.create_task(self._spawn())
                self._spare.add_done_callback(_forget_problem)
            self.trouble = None
            if runner.pid in self._runners:
                return runner

    async def _spawn(self, *, announces: bool = False) -> Runner:
        async with self._turns:
            return await self._spawn_one(announces)

    def _runner_id(self) -> str:
        """Return a name that no other runner of the fleet has."""
        return f"runner-{str(self.worker)[:8]}-{next(self._numbers)}"

    async def _spawn_one(self, announces: bool) -> Runner:
        runner = Runner(self._runner_id(), self._heard, self._lost)
        runner.output.on_line = self._printed
        await runner.spawn(self._guard, self._app, self._env, announces=announces)
        self._runners[runner.pid] = runner
        if exit_early := self._gone_early.pop(runner.pid, None):
            self._exited(runner.pid, exit_early)
        try:
            async with asyncio.timeout(self._import_timeout):
                hello = await asyncio.shield(runner.hello)
        except TimeoutError:
            stack = await runner.ask_for_stack()
            await self._guard.kill(runner.pid)
            raise ImportFailed(
                f"{self._app} was not imported within {self._import_timeout:g} s (import_timeout)",
                stack,
            ) from None
        if isinstance(hello, Broken):
            raise ImportFailed(f"{self._app} cannot be imported: {hello.sentence}", hello.traceback)
        return runner

    def _exited(self, pid: int, how: Exit) -> None:
        if runner := self._runners.pop(pid, None):
            runner.exited(how)
        else:
            self._gone_early[pid] = how

    def _lost(self, runner: Runner, how: Exit | None) -> None:
        for crew in self.crews.values():
            crew.leave(runner)
        if hasattr(self, "keeper"):
            self.keeper.runs.runner_lost(runner, how)

    def _heard(self, runner: Runner, message: FromRunner) -> None:
        self.keeper.runs.heard(runner, message)

    def _printed(self, runner: Runner, stream: str, line: str) -> None:
        if hasattr(self, "keeper"):
            self.keeper.runs.printed(runner, stream, line)
        else:
            _log.info("%s %s: %s", runner.name, stream, line)


async def _at_once(runner: Runner) -> Runner:
    return runner


def _forget_problem(spare: "asyncio.Task[Runner]") -> None:
    """Whoever needs the spare hears of it."""
    if not spare.cancelled():
        spare.exception()
