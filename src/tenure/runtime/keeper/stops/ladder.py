"""The ladder of a stop: ask, interrupt, terminate, kill.

Every stop climbs its own, so a job that does not stop delays no other. Each rung is tried for its
time and noted with the time at which it was reached.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from tenure.domain.lifecycle import Rung
from tenure.observe import tracing
from tenure.runtime.keeper.background_tasks import BackgroundTasks
from tenure.runtime.keeper.database.access import DatabaseAccess
from tenure.runtime.keeper.runs.run import Cause, Run
from tenure.runtime.keeper.stops.interrupts import Interrupts
from tenure.runtime.keeper.stops.progress import StopProgress
from tenure.runtime.leftovers import Survivor
from tenure.runtime.messages import Ask, Interrupt, Orders, Terminate
from tenure.store.calls import control_calls, worker_calls

_log = logging.getLogger("tenure.worker")

FORCED = 0.25  # seconds that a forced stop leaves to a job in a loop runner
_LAST = 5.0  # seconds before the kill, at most, at which what the job started is terminated


@dataclass(eq=False)
class Ladder:
    worker: UUID
    progress: StopProgress
    interrupts: Interrupts
    database: DatabaseAccess
    tasks: BackgroundTasks
    withdraw: Callable[[Run], bool]

    def climb(self, run: Run, cause: Cause, orders: Orders, last: Rung, ask_for: float) -> None:
        """Stop this run. A new stop takes the place of the one that is under way."""
        if run.has_ended or run.ending is not None:
            return
        if run.climbing is not None:
            run.climbing.cancel()
        run.cause, run.orders = cause, orders
        if run.span is None and tracing.is_on():
            run.span = tracing.begin(
                f"stop {run.job.task}", "internal", parent=run.trace, cause=cause, **run.about
            )
        run.climbing = self.tasks.start(self._climb(run, orders, last, ask_for))

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
        await self._kill(run)

    async def _ask(self, run: Run, orders: Orders, seconds: float) -> bool:
        """Return whether it still runs after being asked for this long."""
        self._reach(run, Rung.ASKED)
        if run.started_at is None and self.withdraw(run):
            return False
        if run.runner is not None:
            run.runner.send(Ask(run.number, orders))
        return not await run.ends_within(seconds)

    async def _interrupt(self, run: Run, seconds: float) -> bool:
        self._reach(run, Rung.INTERRUPTED)
        runner = run.runner
        if runner is None:
            return not await run.ends_within(seconds)
        runner.send(Interrupt(run.number))
        if runner.kind == "thread":
            return not await run.ends_within(seconds)
        with self.interrupts.insisting(run, runner):
            return not await run.ends_within(seconds)

    async def _terminate(self, run: Run, seconds: float) -> bool:
        self._reach(run, Rung.TERMINATED)
        if run.runner is not None:
            run.runner.send(Terminate(run.number))
            _log.info(
                "SIGTERM to %s (pid %d) of %s, for what it has started",
                *(run.runner.name, run.runner.pid, run),
                extra=run.about,
            )
            if run.runner.kind != "process":
                run.runner.retire()
        return not await run.ends_within(seconds)

    async def _kill(self, run: Run) -> None:
        """Kill the runner and all below it, until nothing is left."""
        runner = run.runner
        if runner is None or run.has_ended:
            return
        run.rung = Rung.KILLED
        run.killed = True
        self.progress.reached(run, Rung.KILLED)
        others = len(runner.runs) - 1
        _log.warning(
            "killing %s (pid %d) of job %d%s",
            runner.name,
            runner.pid,
            run.job.id,
            f"; {others} other jobs are given back" if others else "",
            extra=run.about,
        )
        survivors = await runner.kill()
        if run.has_session:
            # The statement of a dead client continues, and would be committed.
            call = worker_calls.end_session(self.worker, run.job.id, run.job.token)
            await self.database.retry_until_answered(call, run.tenant)
        if survivors:
            self._report_survivors(run, survivors)

    def _report_survivors(self, run: Run, survivors: Sequence[Survivor]) -> None:
        named = ", ".join(f"pid {left.pid} ({left.command}): {left.why}" for left in survivors)
        _log.error("job %d cannot be killed: %s", run.job.id, named, extra=run.about)
        if run.orders is not None and run.orders.cancellation_id is not None:
            error = f"what could not be confirmed: {named}"
            close = control_calls.close_record(run.orders.cancellation_id, "partial", error=error)
            self.database.retry_in_background(close, run.tenant)

    def _reach(self, run: Run, rung: Rung) -> None:
        if run.rung is None or rung > run.rung:
            run.rung = rung
            self.progress.reached(run, rung)


def _is_alone(run: Run) -> bool:
    """Return whether a kill harms no other job."""
    return run.runner is not None and run.runner.kind == "process"


def _rest_of(seconds: float) -> tuple[float, float]:
    """Return how long to try each of the two rungs before the kill."""
    if seconds <= 0:
        return FORCED, 0
    terminate_for = min(_LAST, seconds / 2)
    return seconds - terminate_for, terminate_for
