"""Watches runners: their memory, event loops that are blocked, and slots that are needed more."""

import asyncio
import logging
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass
from typing import NamedTuple
from uuid import UUID
from weakref import WeakKeyDictionary

from tenure.config import Settings
from tenure.errors import TenureError
from tenure.observe.counting import Counting
from tenure.runtime.guard.processes import DEAD, is_alive, stat
from tenure.runtime.guarding import Guard
from tenure.runtime.keeper.database.access import DatabaseAccess
from tenure.runtime.keeper.database.exchange import Exchange
from tenure.runtime.keeper.database.reports import Reports
from tenure.runtime.keeper.runs.process_usage import cpu_seconds, memory_of
from tenure.runtime.keeper.runs.run import Run
from tenure.runtime.keeper.runs.run_table import RunTable
from tenure.runtime.keeper.runs.runner import Runner
from tenure.runtime.keeper.runs.runner_group import RunnerGroup, RunnerGroups
from tenure.runtime.keeper.runs.runner_launcher import RunnerLauncher
from tenure.runtime.keeper.stops.stops import Stops
from tenure.runtime.messages import AttemptReport

_log = logging.getLogger("tenure.worker")

CHECK_EVERY = 0.5
_PATIENCE = 10.0  # seconds for a silent loop that waits
_BUSY_PATIENCE = 60.0  # for one whose process works: C code may keep the interpreter's lock
_BUSY = 0.1  # of a processor
_LONGEST_PAUSE = 3.0  # seconds between two checks that count as one observation


@dataclass(eq=False, kw_only=True)
class Watchdog:
    worker: UUID
    settings: InitVar[Settings]
    queues: InitVar[frozenset[str] | None]
    guard: Guard
    runs: RunTable
    launcher: RunnerLauncher
    groups: RunnerGroups
    exchanges: Mapping[str, Exchange]
    reports: Mapping[str, Reports]
    database: DatabaseAccess
    stops: Stops
    counts: Counting
    may_claim: Callable[[], bool]

    def __post_init__(self, settings: Settings, queues: frozenset[str] | None) -> None:
        self._blocked_after = settings.blocked_after.total_seconds()
        self._silent_loops = SilentLoops()
        self._reported: dict[str, int] = {}  # by runner: the run whose blocking was reported
        preempting = {queue.strip() for queue in (settings.preempt or "").split(",")} - {""}
        # Queues that this worker does not serve cannot need one of its slots.
        self._preempting = preempting if queues is None else preempting & queues

    async def serve(self) -> None:
        while True:
            await asyncio.sleep(CHECK_EVERY)
            if self.runs and not self.guard.is_frozen:
                await self.run_once()

    async def run_once(self) -> None:
        for runner in self.launcher.runners:
            if runner.kind == "process":
                self._check_memory(runner)
            elif self._silent_loops.is_dead(runner):
                await self._end_silent(runner)
            elif runner.kind == "async":
                await self._check_loop(runner)
        if self._preempting and self.may_claim():
            for group in list(self.groups.values()):
                await self._check_slots(group)

    def _check_memory(self, runner: Runner) -> None:
        memory = memory_of(runner.pid)
        if memory is None:
            return
        runner.memory = memory
        runner.note_begun()
        for run in list(runner.runs.values()):
            limit = run.limits.memory if run.started_at is not None else None
            if limit is not None and runner.memory > limit and run.cause is None:
                reason = f"memory limit of {limit} bytes exceeded: {runner.memory} used"
                self.stops.for_limit(run, "memory", reason)

    async def _check_loop(self, runner: Runner) -> None:
        """Report a job that blocks its loop and delays others; it is not ended for that."""
        stamp, holder = runner.page.stamp, runner.page.on_cpu
        behind = (time.monotonic_ns() - stamp) / 1e9 if stamp else 0.0
        if behind < self._blocked_after + CHECK_EVERY:
            self._reported.pop(runner.name, None)
            return
        run = runner.runs.get(holder)
        if run is None or self._reported.get(runner.name) == holder:
            return
        self._reported[runner.name] = holder
        stack = await runner.ask_for_stack()
        line = f"it has blocked its event loop for {behind:.1f} s and delays its neighbours"
        self.counts.blocked()
        _log.warning("job %d (%s): %s\n%s", run.job.id, run.job.task, line, stack, extra=run.about)
        report = AttemptReport(run.number, logs=(("warning", f"{line}\n{stack}"),))
        self.reports[run.tenant].add(run, report)

    async def _end_silent(self, runner: Runner) -> None:
        stack = await runner.ask_for_stack()
        where = (runner.name, runner.pid)
        _log.error("%s (pid %d) does not answer, and no job holds it: killed\n%s", *where, stack)
        runner.signal(signal.SIGKILL)

    async def _check_slots(self, group: RunnerGroup) -> None:
        """Where a queue allows it, take the slot of the lowest priority for a higher one."""
        victim = None if group.has_slot else self._lowest(group)
        if victim is None or group.tenant not in self.exchanges:
            return
        try:
            waiting = await self.database.store(group.tenant).waiting_priority(
                self.worker,
                queues=sorted(self._preempting),
                tasks=self.exchanges[group.tenant].tasks_of(group.kind),
            )
        except TenureError as problem:
            _log.debug("%s", problem)
            return
        if waiting is not None and waiting > victim.job.priority:
            self.stops.for_preemption(victim, waiting)

    def _lowest(self, group: RunnerGroup) -> Run | None:
        """Return the run to preempt; None while another is being preempted."""
        runs = [run for runner in group.runners for run in runner.runs.values()]
        if any(run.cause == "preemption" for run in runs):
            return None
        candidates = [
            run
            for run in runs
            if run.job.queue in self._preempting and run.cause is None
            if run.started_at is not None
        ]
        return min(candidates, key=lambda run: (run.job.priority, -run.job.id), default=None)


class _Observed(NamedTuple):
    stamp: int
    since: float
    seen_at: float
    cpu: float


class SilentLoops:
    """Finds event loops that do not turn although no job holds them.

    It counts its own checks, so that no time counts in which keeper and runner were frozen.
    """

    def __init__(self) -> None:
        self._observed: WeakKeyDictionary[Runner, _Observed] = WeakKeyDictionary()

    def is_dead(self, runner: Runner) -> bool:
        """Return whether the loop of a runner has ended, or has been silent for too long."""
        main = stat(runner.pid)
        if main is not None and main.state in DEAD and is_alive(runner.pid):
            return True  # its main thread has ended, and others keep the process alive
        now, stamp = asyncio.get_running_loop().time(), runner.page.stamp
        before = self._observed.get(runner)
        if not stamp or runner.page.on_cpu in runner.runs:
            self._observed.pop(runner, None)
            return False
        cpu = cpu_seconds(runner.pid)
        if before is None or before.stamp != stamp or now - before.seen_at > _LONGEST_PAUSE:
            self._observed[runner] = _Observed(stamp, now, now, cpu)
            return False
        self._observed[runner] = before._replace(seen_at=now)
        silent = now - before.since
        # A runnable process that gets no CPU is busy, too: the machine is.
        is_busy = cpu - before.cpu > silent * _BUSY or (main is not None and main.state == "R")
        if is_busy:
            return runner.kind == "async" and silent > _BUSY_PATIENCE
        return silent > _PATIENCE
