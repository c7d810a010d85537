"""Looking after runners: memory, event loops that do not turn, and slots that are needed more."""

import asyncio
import logging
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tenure.errors import TenureError
from tenure.runtime.keeper.crew import Crew
from tenure.runtime.keeper.run import Run
from tenure.runtime.keeper.runners import Runner
from tenure.runtime.keeper.silence import Silence
from tenure.runtime.messages import AttemptReport

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

_log = logging.getLogger("tenure.worker")

LOOK_EVERY = 0.5
_PAGE_SIZE = 4096


class Watch:
    def __init__(self, keeper: "Keeper") -> None:
        self._keeper = keeper
        self._silence = Silence()
        self._told: dict[str, int] = {}  # by runner: the run whose blocking was told
        queues = {queue.strip() for queue in (keeper.settings.preempt or "").split(",")} - {""}
        # Those that this worker does not serve cannot need a slot of it.
        self._preempting = queues if keeper.queues is None else queues & set(keeper.queues)

    async def serve(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if self._keeper.runs and not self._keeper.guard.is_frozen:
                await self.run_once()

    async def run_once(self) -> None:
        for runner in self._keeper.staff.runners:
            if runner.kind == "process":
                self._look_at_memory(runner)
            elif self._silence.is_dead(runner):
                await self._end_silent(runner)
            elif runner.kind == "async":
                await self._look_at_loop(runner)
        if self._preempting and self._keeper.may_claim:
            for crew in list(self._keeper.staff.crews.values()):
                await self._look_at_slots(crew)

    def _look_at_memory(self, runner: Runner) -> None:
        try:
            runner.memory = (
                int(Path(f"/proc/{runner.pid}/statm").read_text().split()[1]) * _PAGE_SIZE
            )
        except OSError:
            return
        for run in list(runner.runs.values()):
            limit = run.limits.memory
            if limit is not None and runner.memory > limit and run.cause is None:
                reason = f"memory limit of {limit} bytes exceeded: {runner.memory} used"
                self._keeper.stops.for_limit(run, "memory", reason)

    async def _look_at_loop(self, runner: Runner) -> None:
        """A job that holds the loop delays its neighbours. It is told, and not ended for it."""
        stamp, holder = runner.page.stamp, runner.page.on_cpu
        behind = (time.monotonic_ns() - stamp) / 1e9 if stamp else 0.0
        if behind < self._keeper.settings.blocked_after.total_seconds() + LOOK_EVERY:
            self._told.pop(runner.name, None)
            return
        run = runner.runs.get(holder)
        if run is None or self._told.get(runner.name) == holder:
            return
        self._told[runner.name] = holder
        stack = await runner.ask_for_stack()
        line = f"it has blocked its event loop for {behind:.1f} s and delays its neighbours"
        self._keeper.counts.blocked()
        _log.warning("job %d (%s): %s\n%s", run.job.id, run.job.task, line, stack, extra=run.about)
        said = AttemptReport(run.number, logs=(("warning", f"{line}\n{stack}"),))
        self._keeper.reports[run.tenant].add(run, said)

    async def _end_silent(self, runner: Runner) -> None:
        stack = await runner.ask_for_stack()
        where = (runner.name, runner.pid)
        _log.error("%s (pid %d) does not answer, and no job holds it: killed\n%s", *where, stack)
        runner.signal(signal.SIGKILL)

    async def _look_at_slots(self, crew: Crew) -> None:
        """Where a queue allows it, a higher priority takes the slot of the lowest."""
        victim = self._lowest(crew) if crew.free <= 0 else None
        if victim is None or crew.tenant not in self._keeper.exchanges:
            return
        try:
            waiting = await self._keeper.store(crew.tenant).waiting_priority(
                self._keeper.id,
                queues=sorted(self._preempting),
                tasks=self._keeper.exchanges[crew.tenant].tasks_of(crew.kind),
            )
        except TenureError as problem:
            _log.debug("%s", problem)
            return
        if waiting is not None and waiting > victim.job.priority:
            self._keeper.stops.for_preemption(victim, waiting)

    def _lowest(self, crew: Crew) -> Run | None:
        """The one to give way; none while somebody already does."""
        runs = [run for runner in crew.runners for run in runner.runs.values()]
        if any(run.cause == "preemption" for run in runs):
            return None
        mayhap = [run for run in runs if run.job.queue in self._preempting and run.cause is None]
        return min(mayhap, key=lambda run: (run.job.priority, -run.job.id), default=None)
