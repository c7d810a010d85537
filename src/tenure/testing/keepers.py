"""The keeper of one attempt in a sandbox: it records reports, answers requests, finds stops."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any, Protocol
from uuid import UUID

import msgspec

from tenure.control.operation import Operation, perform
from tenure.domain.job import JSON
from tenure.domain.lifecycle import Intent, Rung
from tenure.errors import BudgetExceeded, InputRefused, NotFound
from tenure.runtime import job_requests
from tenure.runtime.keeper.database.reports import Pending
from tenure.runtime.keeper.runs.endings import timeout_reason
from tenure.runtime.keeper.runs.run import Run
from tenure.runtime.keeper.stops.stops import read_orders
from tenure.runtime.messages import AttemptReport, Orders
from tenure.store.outcomes import Report
from tenure.store.results import Reported
from tenure.store.store import Store
from tenure.testing.triggers import Trigger, events_of

BY = "test"  # who stops jobs at triggers
_PATIENCE = 1.0  # seconds for a grant


@dataclass(frozen=True)
class Stop:
    """A stop that has reached an attempt."""

    orders: Orders
    ask_for: float  # seconds before the code is interrupted
    may_interrupt: bool


class AttemptKeeper(Protocol):
    """The keeper as an attempt sees it, in this process or from a forked one."""

    kills: bool  # the test wants the process killed now

    def report(self, report: AttemptReport) -> None:
        """Record a report."""

    def request(self, name: str, arguments: Any) -> Any:
        """Return the answer to a request of the job's code."""

    def stop(self) -> Stop | None:
        """Return the stop that was requested, if there is one."""


@dataclass(eq=False)
class LocalKeeper:
    worker: UUID
    store: Store  # of the job's tenant
    run: Run
    triggers: Sequence[Trigger]
    kills: bool = False

    def __post_init__(self) -> None:
        self._began = monotonic()
        self._handlers: dict[str, Callable[[Any], Any]] = {
            "flush": lambda _: None,  # every report is recorded when it is made
            "spawn": self._spawn,
            "slot": self._slot,
            "grant": self._granted,
            "reserve": self._granted,
            "transaction": lambda _: None,
        }

    def report(self, report: AttemptReport) -> None:
        if report.cleaning:
            return
        pending = Pending(self.run)
        pending.add(report)
        answer = self._send(pending.report)
        for exhausted in answer.exhausted:
            if not self.run.overspent:
                self.run.overspent = True
                pauses = self.run.limits.on_budget == "pause"
                intent = Intent.PAUSE if pauses else Intent.CANCEL
                self._stop(intent, exhausted.message, "policy:budget")
        self._fire(events_of(report))

    def request(self, name: str, arguments: Any) -> Any:
        if name in self._handlers:
            return self._handlers[name](arguments)
        return self._perform(job_requests.answer(self.worker, self.run.job, name, arguments))

    def stop(self) -> Stop | None:
        run = self.run
        read = self.store.read_signals(self.worker)
        for signal in read.signals:
            if (signal.job_id, signal.token) == (run.job.id, run.job.token):
                orders, last, ask_for = read_orders(signal.orders, run.limits)
                return self._stopped("stop", orders, last, ask_for)
        limit = run.limits.timeout
        if limit is not None and monotonic() - self._began >= limit.total_seconds():
            grace = run.limits.grace.total_seconds()
            orders = Orders(Intent.CANCEL, timeout_reason(limit), "policy:timeout", grace)
            return self._stopped("timeout", orders, run.limits.last_rung, None)
        return None

    def _stopped(self, cause: Any, orders: Orders, last: Rung, ask_for: float | None) -> Stop:
        run = self.run
        run.cause, run.orders = cause, orders
        may_interrupt = last >= Rung.INTERRUPTED
        run.rung = Rung.INTERRUPTED if may_interrupt else Rung.ASKED
        seconds = run.limits.ask_for.total_seconds() if ask_for is None else ask_for
        return Stop(orders, seconds, may_interrupt)

    def _fire(self, events: Counter[str]) -> None:
        """Stop or kill the job at the triggers that are reached."""
        for trigger in self.triggers:
            if not trigger.applies_to(self.run.job.task):
                continue
            if not trigger.reaches(self.run.number, events):
                continue
            if trigger.effect == "kill":
                self.kills = True
            else:
                intent = Intent.PAUSE if trigger.effect == "pause" else Intent.CANCEL
                self._stop(intent, trigger.reason or f"the test stops it: {trigger}", BY)

    def _stop(self, intent: Intent, reason: str, by: str) -> None:
        self.store.stop(self.run.job.id, intent=intent, reason=reason, by=by, via="worker")

    def _spawn(self, arguments: tuple[str, bytes]) -> int:
        child: int = self._perform(job_requests.spawn(self.run.job, arguments))
        self._fire(Counter(spawn=1))
        return child

    def _slot(self, pool: str) -> str:
        known = [found.name for found in self.store.pools()]
        if pool not in known:
            raise NotFound(f"there is no pool {pool!r}; there are: {', '.join(known) or 'none'}")
        job = self.run.job
        answer = self._send(Report(job=job.id, token=job.token, take=[pool]))
        slot = answer.granted.get(str(job.id), {}).get(pool)
        if slot is None:
            raise InputRefused(
                f"no slot of {pool!r} is free, and a sandbox runs one job at a time, so nothing "
                f"would free one"
            )
        return slot

    def _granted(self, request: Mapping[str, JSON]) -> bool:
        """Wait a moment for a grant or a reservation: a rate refills, but nothing else is freed."""
        job, until = self.run.job, monotonic() + _PATIENCE
        while True:
            report = Report(job=job.id, token=job.token, asks=[request])
            answer = self._send(report).answered[str(job.id)][str(request["number"])]
            if answer.granted:
                return True
            if answer.exhausted is not None:
                raise BudgetExceeded(answer.exhausted)
            if answer.refused is not None or monotonic() + answer.wait > until:
                raise InputRefused(
                    answer.refused
                    or "it cannot be granted now, and a sandbox runs one job at a time, so nothing "
                    "would free it; advance the clock, or raise the limit"
                )
            sleep(max(answer.wait, 0.005))

    def _send(self, report: Report) -> Reported:
        return self.store.report(self.worker, [report])

    def _perform(self, operation: Operation[Any]) -> Any:
        """Return the answer as it arrives in a runner."""
        answer = perform(operation, self.store.send)
        return msgspec.msgpack.decode(msgspec.msgpack.encode(answer))
