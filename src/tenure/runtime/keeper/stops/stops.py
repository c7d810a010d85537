"""Why runs are stopped: a request, a limit, a draining worker, or a slot that is needed."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tenure.domain.bounds import LONGEST
from tenure.domain.lifecycle import Intent, Rung
from tenure.runtime.keeper.database.access import DatabaseAccess
from tenure.runtime.keeper.database.clock import DatabaseClock
from tenure.runtime.keeper.runs.endings import timeout_reason
from tenure.runtime.keeper.runs.run import Cause, Run, RunLimits
from tenure.runtime.keeper.runs.run_table import RunTable
from tenure.runtime.keeper.runs.runner_launcher import RunnerLauncher
from tenure.runtime.keeper.stops.ladder import Ladder
from tenure.runtime.keeper.stops.progress import StopProgress
from tenure.runtime.messages import Orders
from tenure.store.calls import control_calls
from tenure.store.results import RunnerOrder, Signal

_log = logging.getLogger("tenure.worker")


@dataclass(eq=False)
class Stops:
    runs: RunTable
    launcher: RunnerLauncher
    ladder: Ladder
    progress: StopProgress
    database: DatabaseAccess
    clock: DatabaseClock

    def __post_init__(self) -> None:
        self._ended_runners: dict[str, RunnerOrder] = {}  # by runner: the order that ends it

    def receive_signal(self, signal: Signal, run: Run) -> None:
        """Stop a run on request. The database repeats the signal until the attempt has ended."""
        orders = signal.orders
        if run.stop_signal == orders:
            return
        run.stop_signal = orders
        if "delivered" not in run.reached:
            self.progress.write(run, "delivered", str(orders["cancellation_id"]))
        stop, last, ask_for = read_orders(orders, run.limits)
        _log.info(
            "stop of job %d asked by %s: %s%s",
            run.job.id,
            stop.by,
            stop.reason,
            " (forced)" if orders.get("force") else "",
            extra={**run.about, "cancellation": stop.cancellation_id},
        )
        self._climb(run, "stop", stop, last, ask_for)

    def for_limit(self, run: Run, cause: Cause, reason: str) -> None:
        """Fail an attempt that exceeded a limit; its job may be retried."""
        _log.warning("job %d: %s", run.job.id, reason, extra=run.about)
        self._climb(run, cause, _cancel(run, reason, f"policy:{cause}"), run.limits.last_rung)

    def for_drain(self, run: Run, grace: float) -> None:
        orders = Orders(Intent.PAUSE, "its worker is leaving", "worker", grace)
        self.ladder.climb(run, "drain", orders, Rung.KILLED, 0)

    def for_preemption(self, run: Run, priority: int) -> None:
        reason = f"a job of priority {priority} needs its slot"
        _log.info("job %d is released: %s", run.job.id, reason, extra=run.about)
        self._climb(run, "preemption", _cancel(run, reason, "policy:preemption"), Rung.KILLED)

    def end_runner(self, name: str, order: RunnerOrder) -> None:
        """End a runner and give back its jobs. The database repeats the order until it is gone."""
        runner = next((it for it in self.launcher.runners if it.name == name), None)
        if runner is None or self._ended_runners.get(name) == order:
            return
        self._ended_runners[name] = order
        runs = list(runner.runs.values())
        reason = order.reason or f"{order.by} ends its runner"
        _log.warning(
            "ending %s (pid %d), asked by %s: %s; %d jobs are given back",
            *(name, runner.pid, order.by, reason, len(runs)),
        )
        runner.retire()
        for run in runs:
            own = run.limits.grace.total_seconds() if order.grace is None else order.grace
            grace = 0.0 if order.force else _seconds(own)
            orders = Orders(Intent.PAUSE, reason, order.by, grace)
            self._climb(run, "runner", orders, Rung.KILLED)

    def over_budget(self, tenant: str, job: int, message: str) -> None:
        """Stop a job that has spent more than its budget."""
        run = self.runs.of(tenant, job)
        if run is not None and not run.overspent:
            run.overspent = True
            intent = Intent.PAUSE if run.limits.on_budget == "pause" else Intent.CANCEL
            self.by_policy(run, "budget", intent, message)

    def by_policy(self, run: Run, policy: str, intent: Intent, reason: str) -> None:
        """Stop the whole job, on record like any other stop."""
        stop = control_calls.stop(
            run.job.id, intent=intent, reason=reason, by=f"policy:{policy}", via="worker"
        )
        self.database.retry_in_background(stop, run.tenant)

    def set_timers(self, run: Run) -> None:
        loop = asyncio.get_running_loop()
        run.timers = []
        if (limit := run.limits.timeout) is not None:
            self._set_timeout(run, limit, limit.total_seconds())
        if (deadline := run.limits.deadline) is not None:
            left = (deadline - self.clock.now()).total_seconds()
            reason = f"its deadline of {deadline.isoformat(timespec='seconds')} has passed"
            run.timers.append(
                loop.call_later(
                    max(left, 0), self.by_policy, run, "deadline", Intent.CANCEL, reason
                )
            )

    def note_cleanup(self, run: Run) -> None:
        """Put on record that the code of a stopped run has ended and its cleanup has begun."""
        self.progress.note(run, "cleaning")

    def _climb(
        self, run: Run, cause: Cause, orders: Orders, last: Rung, ask_for: float | None = None
    ) -> None:
        if run.cause == "stop" and cause != "stop":
            return  # a requested stop is under way, and takes precedence
        if ask_for is None:
            ask_for = run.limits.ask_for.total_seconds()
        self.ladder.climb(run, cause, orders, last, ask_for)

    def _set_timeout(self, run: Run, limit: timedelta, seconds: float) -> None:
        assert run.timers is not None
        loop = asyncio.get_running_loop()
        run.timers.append(loop.call_later(seconds, self._check_timeout, run, limit))

    def _check_timeout(self, run: Run, limit: timedelta) -> None:
        """Stop a run that is over its time, which does not include waiting for a runner."""
        if run.runner is not None and run.runner.kind == "process":
            run.runner.note_begun()
        now = asyncio.get_running_loop().time()
        left = limit.total_seconds() - (now - (run.started_at or now))
        if left > 0:
            self._set_timeout(run, limit, left)
        else:
            self.for_limit(run, "timeout", timeout_reason(limit))


def read_orders(orders: Mapping[str, Any], limits: RunLimits) -> tuple[Orders, Rung, float | None]:
    """Return a stop as its job sees it, its last rung, and the seconds to only ask for it.

    The options of the job apply where the stop has none of its own.
    """
    force = bool(orders.get("force"))
    grace, ask_for = orders.get("grace"), orders.get("ask_for")
    grace = limits.grace.total_seconds() if grace is None else grace
    stop = Orders(
        intent=Intent(orders["intent"]),
        reason=str(orders["reason"]),
        by=str(orders["by"]),
        grace=0.0 if force else _seconds(grace),
        cancellation_id=str(orders["cancellation_id"]),
        preserve=orders.get("preserve"),
    )
    last = Rung.KILLED if force else min(Rung(orders["last_rung"]), limits.last_rung)
    return stop, last, None if ask_for is None else _seconds(ask_for)


def _cancel(run: Run, reason: str, by: str) -> Orders:
    return Orders(Intent.CANCEL, reason, by, run.limits.grace.total_seconds())


def _seconds(value: Any) -> float:
    """Return a duration in a stop, at most the longest that a timer can take."""
    return min(float(value), LONGEST.total_seconds())
