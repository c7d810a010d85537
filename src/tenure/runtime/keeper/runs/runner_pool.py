"""The runners of a worker at work, and an imported spare for the group that needs one next."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass
from itertools import islice
from typing import Any
from uuid import UUID

from tenure.config import Settings
from tenure.errors import GuardUnavailable
from tenure.runtime.guarding import Exit
from tenure.runtime.keeper.database.backoff import Backoff
from tenure.runtime.keeper.database.exchange import Exchange
from tenure.runtime.keeper.database.storable import storable
from tenure.runtime.keeper.runs.lost_attempts import LostAttempts
from tenure.runtime.keeper.runs.process_group import ProcessGroup
from tenure.runtime.keeper.runs.run_times import RunTimes
from tenure.runtime.keeper.runs.runner import Runner
from tenure.runtime.keeper.runs.runner_group import Capacity, RunnerGroup, RunnerGroups
from tenure.runtime.keeper.runs.runner_launcher import ImportFailed, RunnerLauncher
from tenure.runtime.keeper.runs.supervisor import RunSupervisor
from tenure.runtime.messages import Kind

_log = logging.getLogger("tenure.worker")

_TRUST_EVERY = 0.2  # seconds between two tries while the lease is not trusted
_QUIT_WITHIN = 2.0  # seconds, at most, for idle runners to end by themselves
_CHECK_EVERY = 0.01
_MAX_TROUBLE = 1000  # characters
_MAX_JOBS = 1000  # of one runner in its description
_MAX_IDLE = 6  # runners, besides a process for each function that may run at once


@dataclass(eq=False)
class RunnerPool:
    first: InitVar[Runner]
    launcher: RunnerLauncher
    worker: UUID
    settings: Settings
    runner_settings: Mapping[str, Any]
    folder: str  # for temporary files
    groups: RunnerGroups
    exchanges: Mapping[str, Exchange]
    supervisor: RunSupervisor
    times: RunTimes
    lost: LostAttempts
    give_back: Callable[[RunnerGroup], None]
    may_claim: Callable[[], bool]
    on_capacity: Callable[[], None]

    def __post_init__(self, first: Runner) -> None:
        self.trouble: str | None = None  # why no runner can be started, if none can
        self._capacities: dict[Kind, Capacity] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._spare: asyncio.Future[Runner] | None = asyncio.get_running_loop().create_future()
        self._spare.set_result(self._adopt(first))

    def add_group(self, kind: Kind, tenant: str) -> RunnerGroup:
        """Make a group for the jobs of a tenant, within the capacity that all tenants share."""
        if kind not in self._capacities:
            self._capacities[kind] = Capacity(self.settings.capacity[kind], self.on_capacity)
        capacity = self._capacities[kind]
        group = (
            ProcessGroup(
                tenant, capacity, self._request_runner, self.times, self.settings.recycle_after
            )
            if kind == "process"
            else RunnerGroup(kind, tenant, capacity, self._request_runner)
        )
        self.groups[tenant, kind] = group
        return group

    def remove_tenant(self, tenant: str) -> None:
        """Retire the runners of a tenant that is gone and has nothing running."""
        for place in [place for place in self.groups if place[0] == tenant]:
            for runner in self.groups.pop(place).runners:
                runner.retire()

    def describe(self) -> dict[str, dict[str, Any]]:
        """Describe the runners that serve a tenant, by name, so that users can end one."""
        return {
            runner.name: {
                "tenant": runner.tenant,
                "kind": runner.kind,
                "pid": runner.pid,
                "jobs": {
                    run.job.id: run.job.token for run in islice(runner.runs.values(), _MAX_JOBS)
                },
            }
            for runner in self.launcher.runners
            if runner.tenant is not None
        }

    async def quit(self) -> None:
        """Let idle runners end by themselves: some have spans to deliver."""
        idle = [it for it in self.launcher.runners if it.hello.done() and not it.runs]
        for runner in idle:
            runner.quit()
        until = asyncio.get_running_loop().time() + _QUIT_WITHIN
        while any(map(self.launcher.is_alive, idle)):
            if asyncio.get_running_loop().time() >= until:
                return
            await asyncio.sleep(_CHECK_EVERY)

    def close(self) -> None:
        """Start no further runner."""
        self.launcher.close()
        for task in self._tasks:
            task.cancel()
        if self._spare is not None:
            self._spare.cancel()

    def _request_runner(self, group: RunnerGroup) -> None:
        task = asyncio.create_task(self._provide(group))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _provide(self, group: RunnerGroup) -> None:
        runner = await self._next(group)
        if self.groups.get((group.tenant, group.kind)) is not group:
            runner.retire()  # its tenant is gone
            return
        runner.begin(group.kind, group.tenant, str(self.worker), self.runner_settings, self.folder)
        group.add_runner(runner)
        self.lost.tell(runner)
        self.exchanges[group.tenant].wake()
        self._retire_idle()

    def _retire_idle(self) -> None:
        """Retire the runners that have been idle for longest, if there are many."""
        runners = [runner for group in self.groups.values() for runner in group.runners]
        idle = [runner for runner in runners if not runner.runs and not runner.retired]
        idle.sort(key=lambda runner: runner.idle_since)
        for runner in idle[: max(0, len(idle) - self.settings.processes - _MAX_IDLE)]:
            runner.retire()

    async def _next(self, group: RunnerGroup) -> Runner:
        """Return the spare, and start another."""
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
                self.trouble = storable(str(problem)[:_MAX_TROUBLE])
                group.is_stuck = True  # its jobs are for workers that have a runner
                self.give_back(group)
                await asyncio.sleep(backoff.next())
                continue
            if self._spare is None and self.may_claim():
                self._spare = asyncio.create_task(self._spawn())
                self._spare.add_done_callback(_retrieve_exception)
            self.trouble = None
            if self.launcher.is_alive(runner):
                return runner

    async def _spawn(self) -> Runner:
        return self._adopt(await self.launcher.spawn())

    def _adopt(self, runner: Runner) -> Runner:
        runner.on_message = self.supervisor.receive
        runner.on_lost = self._lost
        runner.output.on_line = self.supervisor.receive_line
        return runner

    def _lost(self, runner: Runner, how: Exit | None) -> None:
        for group in self.groups.values():
            group.remove_runner(runner)
        self.supervisor.runner_lost(runner, how)


def _retrieve_exception(spare: "asyncio.Future[Runner]") -> None:
    """Keep asyncio from logging it: the group that needs the spare gets it."""
    if not spare.cancelled():
        spare.exception()
