"""One attempt inside a runner: its state, its stop, and its reports to the keeper."""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tenure.domain.job import JSON
from tenure.errors import InputRefused
from tenure.observe import tracing
from tenure.observe.tracing import Span
from tenure.runtime.control_exceptions import Interrupted
from tenure.runtime.messages import AttemptEnded, AttemptReport, Orders, Work
from tenure.runtime.runner import forks

if TYPE_CHECKING:
    from tenure.control.task import Task
    from tenure.runtime.context import Context
    from tenure.runtime.runner.link import Link
    from tenure.runtime.runner.threads import OwnedThread

T = TypeVar("T")

REPORT_EVERY = 0.05  # seconds between two reports of progress
PATIENCE = 1.0  # seconds for orders that are on their way
_MAX_LINE = 10_000  # characters of a line of output

current: ContextVar["Attempt | None"] = ContextVar("tenure_attempt", default=None)


class PoolCall(Protocol):
    """A call that was passed to a pool of threads or processes."""

    def done(self) -> bool: ...
    def cancel(self) -> bool: ...


class Attempt:
    """The code of the job reads the flags, and the runner sets them, in any thread.

    Their initial values are class attributes: most attempts never touch most of them.
    """

    orders: Orders | None = None
    asked = False
    heard = False
    interrupted = False  # the second rung was reached
    delivered = False  # the interrupt was raised in its code; once is enough
    finished = False  # its code has ended; nothing may interrupt the clean-up
    committed = False  # by its own transaction
    shields = 0
    spawned = 0
    grants = 0  # grants and reservations that it asked for
    lines = 0
    context: "Context | None" = None
    span: Span | None = None  # while tracing is on
    _progress: Mapping[str, JSON] | None = None
    _reported_at = 0.0

    def __init__(self, work: Work, link: "Link") -> None:
        self.work = work
        self.link = link
        self.again: list[tuple[str, Mapping[str, JSON]]] = []  # tasks that continue the clean-up
        self.threads: set[OwnedThread] = set()  # those it started
        self.calls: set[PoolCall] = set()
        self.has_used_threads = False
        self.pids: set[int] = set()  # of processes that it started
        self.borrowed: dict[int, int] = {}  # other threads that run its code, ident: native id

    def bind(self) -> tuple["Task[Any, Any]", Callable[[], Any]]:
        """Return the task of this attempt, and the call of its function with all arguments."""
        task: Task[Any, Any] | None = self.link.app.tasks.get(self.work.task)
        if task is None:
            raise InputRefused(f"this worker has no task {self.work.task!r}")
        arguments = task.read_arguments(self.work.args)
        context = (self.make_context(),) if task.takes_context else ()
        return task, partial(task.function, *context, **arguments)

    def make_context(self) -> "Context":
        if self.context is None:
            from tenure.runtime.context import Context

            self.context = Context(self)
        return self.context

    def call_in_thread(self, work: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """Call a function for this attempt in a thread that it did not start."""
        if current.get() is self:
            return forks.leaving(work, *args, **kwargs)
        thread = threading.get_ident()
        before = current.set(self)
        self.borrowed[thread] = threading.get_native_id()
        try:
            return forks.leaving(work, *args, **kwargs)
        finally:
            self.borrowed.pop(thread, None)
            current.reset(before)

    @property
    def has_running_code(self) -> bool:
        """Tell whether code of it runs, or will run, in a thread or in a pool."""
        return bool(self.threads or self.borrowed or self.open_calls)

    @property
    def open_calls(self) -> list[PoolCall]:
        """Its calls in pools that are not done."""
        return [call for call in tuple(self.calls) if not call.done()]

    @property
    def may_have_ending_threads(self) -> bool:
        """Tell whether threads may be in their last steps: its own, or those of pools."""
        return bool(self.threads or self.borrowed) and not self.open_calls

    def add_call(self, call: PoolCall) -> None:
        self.has_used_threads = True
        self.calls.add(call)
        if isinstance(call, Future):
            call.add_done_callback(self.calls.discard)

    @property
    def native_threads(self) -> set[int]:
        """The kernel's ids of the threads that run its code."""
        own = {thread.native_id for thread in tuple(self.threads)}
        return {*own, *tuple(self.borrowed.values())}

    @property
    def thread_names(self) -> dict[int, str]:
        """The names of the threads that run its code, by ident."""
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        started = [thread.ident for thread in tuple(self.threads) if thread.ident]
        own = {ident: f"thread {names.get(ident, ident)}" for ident in started}
        return {**dict.fromkeys(tuple(self.borrowed), "its thread"), **own}

    @property
    def close_timeout(self) -> float:
        return self.work.close_timeout

    @property
    def hook_timeout(self) -> float:
        """Seconds for a hook of its task; fewer if it was stopped."""
        if self.orders is not None:
            return max(self.orders.grace, 0.0)
        return float(self.link.settings["stop_grace"])

    @property
    def orders_are_unread(self) -> bool:
        """Tell whether it was interrupted before its orders were read from the wire."""
        return self.asked and self.orders is None

    def trace(self) -> None:
        """Begin the span of its code; spans that the code begins are below it."""
        work, link = self.work, self.link
        self.rung_times: dict[str, int] = {}  # nanoseconds since 1970, by rung, in order
        self.span = tracing.begin(
            f"run {work.task}",
            "consumer",
            parent=work.trace,
            link=work.trace,
            job=work.id,
            attempt=work.attempt,
            task=work.task,
            queue=work.queue,
            tenant=link.tenant,
            worker=link.worker,
        ).enter()

    def end_trace(self, ending: AttemptEnded) -> None:
        """End the span. Its rungs are added only now: a signal handler must not touch a span."""
        if self.span is None:
            return
        orders = self.orders
        stop = {} if orders is None else {"cancellation": orders.cancellation_id, "by": orders.by}
        for rung, at in self.rung_times.items():
            self.span.happened(rung, at, **stop)
        self.span.tell(outcome=ending.how)
        self.span.end(None if ending.error is None else str(ending.error["type"]))

    def ask_to_stop(self, orders: Orders) -> None:
        self.orders = orders
        self.mark_asked()

    def mark_asked(self) -> None:
        """Note the stop; a signal does so while the orders are still unread on the wire."""
        self._reach("asked")
        self.asked = True

    def interrupt(self) -> None:
        """Reach the second rung; a shield holds it up."""
        self.interrupted = True
        self._deliver()

    def _deliver(self) -> None:
        if self.interrupted and not (self.delivered or self.finished or self.shields):
            self.delivered = True
            self._reach("interrupted")
            self.acknowledge_stop()
            self.link.interrupt_now(self)

    def _reach(self, rung: str) -> None:
        if self.span is not None:
            self.rung_times.setdefault(rung, time.time_ns())

    def acknowledge_stop(self) -> bool:
        """Tell whether a stop was asked for; from now on its code knows."""
        if self.asked:
            self.heard = True
        return self.heard

    def raise_if_asked(self) -> None:
        if not self.finished and self.acknowledge_stop():
            raise self.interruption()

    def interruption(self) -> Interrupted:
        return Interrupted(self.orders.reason if self.orders else "stopped")

    def shield(self) -> None:
        self.shields += 1

    def unshield(self) -> None:
        self.shields -= 1
        self._deliver()

    def request(self, name: str, arguments: Any = None) -> Any:
        return self.link.request(self.work.run, name, arguments)

    async def arequest(self, name: str, arguments: Any = None) -> Any:
        return await self.link.arequest(self.work.run, name, arguments)

    def report(self, **news: Any) -> None:
        progress, self._progress = self._progress, None
        self._send(AttemptReport(self.work.run, progress=progress, **news))

    def _send(self, report: AttemptReport) -> None:
        """Send a report, unless the job has completed itself: then its record is closed."""
        if not self.committed:
            self.link.report(report)

    def report_progress(self, progress: Mapping[str, JSON]) -> None:
        """Report the latest counts; a loop may call this a million times."""
        was_reported = self._progress is None
        self._progress = progress
        now = time.monotonic()
        if now - self._reported_at >= REPORT_EVERY:
            self._reported_at = now
            self.report()
        elif was_reported:
            self.link.report_soon(self)

    def flush_progress(self) -> None:
        if self._progress is not None:
            self.report()

    def flush(self) -> None:
        """Report what is still held back, at the end of the attempt."""
        self.flush_progress()
        dropped = self.lines - int(self.link.settings["max_log_lines"])
        if dropped > 0:
            line = f"{dropped} lines of output were dropped: the limit of a job was reached"
            self._send(AttemptReport(self.work.run, logs=(("warning", line),)))

    def log(self, level: str, line: str) -> None:
        """Add a line to the job's log; beyond the limit, lines are only counted."""
        self.lines += 1
        if self.lines <= int(self.link.settings["max_log_lines"]):
            self._send(AttemptReport(self.work.run, logs=((level, line[:_MAX_LINE]),)))

    def log_left_behind(
        self, names: list[str], cleanup: Mapping[str, JSON] | None
    ) -> Mapping[str, JSON]:
        """Name in the job's log and in the report of its clean-up what still runs."""
        named = ", ".join(names)
        self.log("warning", f"the job has ended, but not all that it started: {named}")
        return {**(cleanup or {}), "left_behind": list(names)}
