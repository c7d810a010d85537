"""Why runs are stopped: somebody asked, a limit was passed, the worker leaves, a slot is needed."""

import asyncio
import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tenure.domain.bounds import LONGEST
from tenure.domain.lifecycle import Intent, Rung
from tenure.runtime.guarding import Killed
from tenure.runtime.keeper.run import Cause, Run
from tenure.runtime.keeper.rungs import Rungs
from tenure.runtime.keeper.verdicts import timeout_reason
from tenure.runtime.messages import Orders
from tenure.store.calls import control_calls
from tenure.store.results import RunnerOrder, Signal

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

_log = logging.getLogger("tenure.worker")


class Stops:
    def __init__(self, keeper: "Keeper") -> None:
        self._keeper = keeper
        self._rungs = Rungs(keeper)
        self._heard: dict[int, Mapping[str, Any]] = {}  # by run: the orders it climbs for
        self._ending: dict[str, RunnerOrder] = {}  # by runner

    def hear(self, signal: Signal, run: Run) -> None:
        """Somebody asked for it. The database repeats this until the attempt has ended."""
        orders = signal.orders
        if self._heard.get(run.number) == orders:
            return
        self._heard[run.number] = orders
        if "delivered" not in run.reached:
            self._rungs.note(run, "delivered", str(orders["cancellation_id"]))
        limits = run.limits
        force = bool(orders.get("force"))
        grace, ask_for = orders.get("grace"), orders.get("ask_for")
        grace = limits.grace.total_seconds() if grace is None else grace
        told = Orders(
            intent=Intent(orders["intent"]),
            reason=str(orders["reason"]),
            by=str(orders["by"]),
            grace=0.0 if force else _seconds(grace),
            cancellation_id=str(orders["cancellation_id"]),
            preserve=orders.get("preserve"),
        )
        last = Rung.KILLED if force else min(Rung(orders["last_rung"]), limits.last_rung)
        _log.info(
            "stop of job %d asked by %s: %s%s",
            run.job.id,
            told.by,
            told.reason,
            " (forced)" if force else "",
            extra={**run.about, "cancellation": told.cancellation_id},
        )
        self._climb(run, "stop", told, last, None if ask_for is None else _seconds(ask_for))

    def for_limit(self, run: Run, cause: Cause, reason: str) -> None:
        """A limit of this attempt was passed. It fails; its job may be tried again."""
        _log.warning("job %d: %s", run.job.id, reason, extra=run.about)
        self._climb(run, cause, self._own(run, reason, f"policy:{cause}"), run.limits.last_rung)

    def for_drain(self, run: Run, grace: float) -> None:
        orders = Orders(Intent.PAUSE, "its worker is leaving", "worker", grace)
        self._keeper.ladder.climb(run, "drain", orders, Rung.KILLED, 0)

    def for_preemption(self, run: Run, priority: int) -> None:
        reason = f"a job of priority {priority} needs its slot"
        _log.info("job %d is released: %s", run.job.id, reason, extra=run.about)
        self._climb(run, "preemption", self._own(run, reason, "policy:preemption"), Rung.KILLED)

    def end_runner(self, name: str, order: RunnerOrder) -> None:
        """End a runner, and give back its jobs. The database repeats this until it is gone."""
        runner = next((it for it in self._keeper.staff.runners if it.name == name), None)
        if runner is None or self._ending.get(name) == order:
            return
        self._ending[name] = order
        runs = list(runner.runs.values())
        reason = order.reason or f"{order.by} ends its runner"
        _log.warning(
            "ending %s (pid %d), asked by %s: %s; %d jobs are given back",
            *(name, runner.pid, order.by, reason, len(runs)),
        )
        self._keeper.staff.retire(runner)
        for run in runs:
            own = run.limits.grace.total_seconds() if order.grace is None else order.grace
            grace = 0.0 if order.force else _seconds(own)
            orders = Orders(Intent.PAUSE, reason, order.by, grace)
            self._climb(run, "runner", orders, Rung.KILLED)

    def by_policy(self, run: Run, policy: str, intent: Intent, reason: str) -> None:
        """The whole job is to end; on record like any other stop."""
        stop = control_calls.stop(
            run.job.id, intent=intent, reason=reason, by=f"policy:{policy}", via="worker"
        )
        self._keeper.insist(stop, run.tenant)

    def set_timers(self, run: Run) -> None:
        loop = asyncio.get_running_loop()
        run.timers = []
        if (limit := run.limits.timeout) is not None:
            self._set_timeout(run, limit, limit.total_seconds())
        if (deadline := run.limits.deadline) is not None:
            left = (deadline - self._keeper.clock.now()).total_seconds()
            reason = f"its deadline of {deadline.isoformat(timespec='seconds')} has passed"
            run.timers.append(
                loop.call_later(
                    max(left, 0), self.by_policy, run, "deadline", Intent.CANCEL, reason
                )
            )

    def forget(self, run: Run) -> None:
        self._heard.pop(run.number, None)

    async def kill(self, run: Run) -> None:
        """The last rung: the runner and all below it, until nothing is left."""
        runner = run.runner
        if runner is None or run.has_ended:
            return
        run.rung = Rung.KILLED
        run.killed = True
        self.note_rung(run, Rung.KILLED)
        if run.span is not None:
            run.span.happened(Rung.KILLED.value)
        neighbours = len(runner.runs) - 1
        _log.warning(
            "killing %s (pid %d) of job %d%s",
            runner.name,
            runner.pid,
            run.job.id,
            f"; {neighbours} other jobs are given back" if neighbours else "",
            extra=run.about,
        )
        result = await self._keeper.staff.kill(runner)
        if run.has_session:
            # A statement whose client is dead goes on, and would be committed.
            await self._keeper.end_session(run)
        if result.left:
            self._cannot_be_killed(run, result)

    def note_cleanup(self, run: Run) -> None:
        """Put on record that the code of a stopped run has ended and its cleanup has begun."""
        if run.orders is not None and run.orders.cancellation_id is not None:
            self._rungs.note(run, "cleaning", run.orders.cancellation_id)

    def note_rung(self, run: Run, rung: Rung) -> None:
        """On the record, with its moment."""
        _log.info("job %d is %s", run.job.id, rung.value, extra=run.about)
        self._keeper.counts.reached(rung.value, run.cause or "stop")
        record = run.orders.cancellation_id if run.orders else None
        if record is not None:
            self._rungs.note(run, rung.value, record)

    def _climb(
        self, run: Run, cause: Cause, orders: Orders, last: Rung, ask_for: float | None = None
    ) -> None:
        if run.cause == "stop" and cause != "stop":
            return  # somebody's stop is under way, and it decides
        if ask_for is None:
            ask_for = run.limits.ask_for.total_seconds()
        self._keeper.ladder.climb(run, cause, orders, last, ask_for)

    def _own(self, run: Run, reason: str, by: str) -> Orders:
        return Orders(Intent.CANCEL, reason, by, run.limits.grace.total_seconds())

    def _set_timeout(self, run: Run, limit: timedelta, seconds: float) -> None:
        assert run.timers is not None
        loop = asyncio.get_running_loop()
        run.timers.append(loop.call_later(seconds, self._look_at_time, run, limit))

    def _look_at_time(self, run: Run, limit: timedelta) -> None:
        """Its time begins with its code: while it waited for a runner, it took none."""
        now = asyncio.get_running_loop().time()
        left = limit.total_seconds() - (now - (run.started_at or now))
        if left > 0:
            self._set_timeout(run, limit, left)
        else:
            self.for_limit(run, "timeout", timeout_reason(limit))

    def _cannot_be_killed(self, run: Run, result: Killed) -> None:
        named = ", ".join(f"pid {one.pid} ({one.command}): {one.why}" for one in result.left)
        _log.error("job %d cannot be killed: %s", run.job.id, named, extra=run.about)
        if run.orders is not None and run.orders.cancellation_id is not None:
            error = f"what could not be confirmed: {named}"
            close = control_calls.close_record(run.orders.cancellation_id, "partial", error=error)
            self._keeper.insist(close, run.tenant)


def _seconds(told: Any) -> float:
    """Return a length of time in a stop, at most the longest that a timer can take."""
    return min(float(told), LONGEST.total_seconds())
