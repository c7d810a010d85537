"""The ladder of a stop: ask, interrupt, terminate, kill.

Every stop climbs its own, so one job that will not stop delays no other. Each rung is tried for its
time and noted with the moment it was reached.
"""

import asyncio
import logging
import signal
from typing import TYPE_CHECKING

from tenure.domain.lifecycle import Rung
from tenure.observe import tracing
from tenure.runtime.keeper.run import Cause, Run
from tenure.runtime.messages import Ask, Interrupt, Orders, Terminate

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

_log = logging.getLogger("tenure.worker")

FORCED = 0.25  # seconds that a forced stop leaves to a job in a loop runner
_ON_CPU = 0.02  # seconds a runner may take to pass an interrupt on before it counts as blocked
_ALONE = 0.003  # the same for one that has a single job, the first time
_LAST = 5.0  # seconds before the kill, at most, at which what the job started is terminated


class Ladder:
    def __init__(self, keeper: "Keeper") -> None:
        self._keeper = keeper

    def climb(self, run: Run, cause: Cause, orders: Orders, last: Rung, ask_for: float) -> None:
        """Stop this run. A stop that is harder than the one under way takes its place."""
        if run.has_ended or run.ending is not None:
            return
        if run.climbing is not None:
            run.climbing.cancel()
        run.cause, run.orders = cause, orders
        if run.span is None and tracing.is_on():
            run.span = tracing.begin(
                f"stop {run.job.task}", "internal", parent=run.trace, cause=cause, **run.about
            )
        run.climbing = asyncio.create_task(self._climb(run, orders, last, ask_for))

    async def _climb(self, run: Run, orders: Orders, last: Rung, ask_for: float) -> None:
        grace = max(orders.grace, 0)
        ask_for = min(ask_for, grace)
        if not await self._ask(run, orders, ask_for) or last is Rung.ASKED:
            return
        if grace > 0 or last is not Rung.KILLED or not _is_alone(run):
            interrupt_for, terminate_for = _rest_of(grace - ask_for)
            if not await self._interrupt(run, interrupt_for) or last is Rung.INTERRUPTED:
                return
            if not await self._terminate(run, terminate_for) or last is Rung.TERMINATED:
                return
        await self._keeper.stops.kill(run)

    async def _ask(self, run: Run, orders: Orders, seconds: float) -> bool:
        """Whether it goes on after being asked for this long."""
        self._reach(run, Rung.ASKED)
        if run.runner is None and self._keeper.runs.withdraw(run):
            return False
        if run.runner is not None:
            run.runner.send(Ask(run.number, orders))
        return not await run.ends_within(seconds)

    async def _interrupt(self, run: Run, seconds: float) -> bool:
        self._reach(run, Rung.INTERRUPTED)
        runner = run.runner
        if runner is None:
            return not await run.ends_within(seconds)
        until = asyncio.get_running_loop().time() + seconds
        signalled = False
        patience = _ALONE if runner.kind == "process" else _ON_CPU
        runner.send(Interrupt(run.number))
        while (left := until - asyncio.get_running_loop().time()) > 0:
            if await run.ends_within(min(patience, left)):
                return False
            if run.number in runner.passed_on or runner.kind == "thread":
                return not await run.ends_within(left - patience)
            patience = _ON_CPU
            # Its loop does not turn, or C code keeps the thread at the wire from listening. If it
            # is this job that does so, a signal may get it out.
            if runner.page.on_cpu == run.number:
                runner.page.interrupt_target = run.number
                if runner.signal(signal.SIGUSR1) and not signalled:
                    signalled = True
                    self._say_signal(run, "SIGUSR1", "which keeps its runner from listening")
        return not run.has_ended

    async def _terminate(self, run: Run, seconds: float) -> bool:
        self._reach(run, Rung.TERMINATED)
        if run.runner is not None:
            run.runner.send(Terminate(run.number))
            self._say_signal(run, "SIGTERM", "for what it has started")
            if run.runner.kind != "process":
                self._keeper.staff.retire(run.runner)
        return not await run.ends_within(seconds)

    def _say_signal(self, run: Run, name: str, why: str) -> None:
        assert run.runner is not None
        where = (run.runner.name, run.runner.pid)
        _log.info("%s to %s (pid %d) of %s, %s", name, *where, run, why, extra=run.about)

    def _reach(self, run: Run, rung: Rung) -> None:
        if run.rung is None or rung > run.rung:
            run.rung = rung
            self._keeper.stops.note_rung(run, rung)
            if run.span is not None:
                run.span.happened(rung.value)


def _is_alone(run: Run) -> bool:
    """Whether a kill harms nobody else."""
    return run.runner is not None and run.runner.kind == "process"


def _rest_of(seconds: float) -> tuple[float, float]:
    """How long to try each of the two rungs before the kill."""
    if seconds <= 0:
        return FORCED, 0
    terminate_for = min(_LAST, seconds / 2)
    return seconds - terminate_for, terminate_for
