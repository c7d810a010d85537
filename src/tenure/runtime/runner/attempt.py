"""One attempt inside a runner: what was asked of it, and what it says."""

import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from tenure.domain.job import JSON
from tenure.observe import tracing
from tenure.observe.tracing import Span
from tenure.runtime.control_exceptions import Interrupted
from tenure.runtime.messages import AttemptReport, Orders, Work
from tenure.runtime.runner import forks

if TYPE_CHECKING:
    from tenure.control.task import Task
    from tenure.runtime.context import Context
    from tenure.runtime.runner.threads import OwnedThread

T = TypeVar("T")

SAY_EVERY = 0.05  # seconds between two sayings of progress
PATIENCE = 1.0  # seconds for orders that are on their way

current: ContextVar["Attempt | None"] = ContextVar("tenure_attempt", default=None)


class Link(Protocol):
    """The way from an attempt to the keeper; each kind of runner has its own."""

    tenant: str
    worker: str
    folder: Path
    settings: Mapping[str, Any]
    app: Any

    def say(self, said: AttemptReport) -> None: ...
    def say_soon(self, attempt: "Attempt") -> None: ...
    def ask(self, run: int, about: str, told: Any) -> Any: ...
    async def aask(self, run: int, about: str, told: Any) -> Any: ...
    async def drain(self) -> None: ...
    def in_background(self, work: Callable[[], Any]) -> Coroutine[Any, Any, Any] | None: ...
    def interrupt_now(self, attempt: "Attempt") -> None: ...


class PoolCall(Protocol):
    """A call that was passed to a pool of threads or processes."""

    def done(self) -> bool: ...
    def cancel(self) -> bool: ...


class Attempt:
    """Its flags are read by the code of the job and set by the runner, in any thread.

    How each of them begins stands with the class: most attempts never touch most of them.
    """

    orders: Orders | None = None
    asked = False
    heard = False
    interrupted = False  # the second rung was reached
    delivered = False  # and its code has felt it; once is enough
    over = False  # its code has ended; nothing may interrupt what cleans up after it
    committed = False  # by its own transaction
    shields = 0
    spawned = 0
    lines = 0
    context: "Context | None" = None
    span: Span | None = None  # if somebody traces
    _progress: Mapping[str, JSON] | None = None
    _said_at = 0.0

    def __init__(self, work: Work, link: Link) -> None:
        self.work = work
        self.link = link
        self.again: list[tuple[str, Mapping[str, JSON]]] = []  # tasks that go on cleaning up
        self.threads: set[OwnedThread] = set()  # those it started
        self.calls: set[PoolCall] = set()
        self.has_used_threads = False
        self.pids: set[int] = set()  # of processes that it started
        self.lent: dict[int, int] = {}  # threads that work for it now: native ids by ident

    def context_for(self, task: "Task[Any, Any]") -> tuple["Context"] | tuple[()]:
        """What a task function is called with before its arguments."""
        return (self.make_context(),) if task.takes_context else ()

    def make_context(self) -> "Context":
        if self.context is None:
            from tenure.runtime.context import Context

            self.context = Context(self)
        return self.context

    def call_in_thread(self, work: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """Call a function for this attempt in a thread that is not its own."""
        if current.get() is self:
            return forks.leaving(work, *args, **kwargs)
        thread = threading.get_ident()
        before = current.set(self)
        self.lent[thread] = threading.get_native_id()
        try:
            return forks.leaving(work, *args, **kwargs)
        finally:
            self.lent.pop(thread, None)
            current.reset(before)

    @property
    def goes_on(self) -> bool:
        """Tell whether code of it runs, or will run, in a thread or in a pool."""
        return bool(self.threads or self.lent or self.open_calls)

    @property
    def open_calls(self) -> list[PoolCall]:
        """Its calls in pools that are not over."""
        return [call for call in tuple(self.calls) if not call.done()]

    @property
    def is_letting_go(self) -> bool:
        """Tell whether threads may be in their last steps: its own, or those of pools."""
        return bool(self.threads or self.lent) and not self.open_calls

    def say_what_goes_on(self, names: list[str]) -> None:
        """Name in the job's log what it leaves behind."""
        named = ", ".join(names)
        self.log("warning", f"the job has ended, but not all that it started: {named}")

    def note_call(self, call: PoolCall) -> None:
        self.has_used_threads = True
        self.calls.add(call)
        if isinstance(call, Future):
            call.add_done_callback(self.calls.discard)

    @property
    def native_threads(self) -> set[int]:
        """The kernel's numbers of the threads in which its code is."""
        own = {thread.native_id for thread in tuple(self.threads)}
        return {*own, *tuple(self.lent.values())}

    @property
    def inside(self) -> dict[int, str]:
        """The threads in which its code is, by ident, and what to call them."""
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        started = [thread.ident for thread in tuple(self.threads) if thread.ident]
        own = {ident: f"thread {names.get(ident, ident)}" for ident in started}
        return {**dict.fromkeys(tuple(self.lent), "its thread"), **own}

    @property
    def close_timeout(self) -> float:
        return self.work.close_timeout

    @property
    def hook_timeout(self) -> float:
        """For a hook of its task; a stop leaves less."""
        if self.orders is not None:
            return max(self.orders.grace, 0.0)
        return float(self.link.settings["stop_grace"])

    @property
    def forced(self) -> bool:
        """Whether there is no time left for anything."""
        return self.orders is not None and self.orders.grace <= 0

    @property
    def orders_are_unread(self) -> bool:
        """Whether it was interrupted before anybody could read why."""
        return self.asked and self.orders is None

    def trace(self) -> None:
        """Begin the span of its code; what that code begins is below it."""
        work, link = self.work, self.link
        self.moments: dict[str, int] = {}  # by rung, in order: when it was reached
        self.span = tracing.begin(
            f"run {work.task}",
            "consumer",
            parent=work.trace,
            job=work.id,
            attempt=work.attempt,
            task=work.task,
            queue=work.queue,
            tenant=link.tenant,
            worker=link.worker,
        ).enter()

    def end_trace(self, how: Mapping[str, Any]) -> None:
        """Only now are its rungs told: a signal handler must not touch a span."""
        if self.span is None:
            return
        orders = self.orders
        stop = {} if orders is None else {"cancellation": orders.cancellation_id, "by": orders.by}
        for what, at in self.moments.items():
            self.span.happened(what, at, **stop)
        self.span.tell(outcome=how["how"])
        error = how.get("error")
        self.span.end(None if error is None else str(error["type"]))

    def ask(self, orders: Orders) -> None:
        self.orders = orders
        self.note_asked()

    def note_asked(self) -> None:
        """Also by a signal, while its orders still lie unread on the wire."""
        self._reach("asked")
        self.asked = True

    def interrupt(self) -> None:
        """The second rung; it waits for a shield."""
        self.interrupted = True
        self._deliver()

    def _deliver(self) -> None:
        if self.interrupted and not (self.delivered or self.over or self.shields):
            self.delivered = True
            self._reach("interrupted")
            self.hear()
            self.link.interrupt_now(self)

    def _reach(self, rung: str) -> None:
        if self.span is not None:
            self.moments.setdefault(rung, time.time_ns())

    def hear(self) -> bool:
        """Whether a stop was asked for; from now on its code knows."""
        if self.asked:
            self.heard = True
        return self.heard

    def raise_if_asked(self) -> None:
        if not self.over and self.hear():
            raise Interrupted(self.orders.reason if self.orders else "stopped")

    def shield(self) -> None:
        self.shields += 1

    def unshield(self) -> None:
        self.shields -= 1
        self._deliver()

    # What it says.

    def say(self, **said: Any) -> None:
        progress, self._progress = self._progress, None
        self._send(AttemptReport(self.work.run, progress=progress, **said))

    def _send(self, said: AttemptReport) -> None:
        """Hand this to the keeper, unless the job has completed itself: then it is recorded."""
        if not self.committed:
            self.link.say(said)

    def say_progress(self, progress: Mapping[str, JSON]) -> None:
        """The latest counts; a loop may call this a million times."""
        quiet = self._progress is None
        self._progress = progress
        now = time.monotonic()
        if now - self._said_at >= SAY_EVERY:
            self._said_at = now
            self.say()
        elif quiet:
            self.link.say_soon(self)

    def say_the_rest(self) -> None:
        if self._progress is not None:
            self.say()

    def log(self, level: str, line: str) -> None:
        """A line for the job's log; beyond the limit lines are counted, not kept."""
        self.lines += 1
        most = int(self.link.settings["max_log_lines"])
        if self.lines <= most:
            self._send(AttemptReport(self.work.run, logs=((level, line[:10_000]),)))

    def say_what_was_dropped(self) -> None:
        dropped = self.lines - int(self.link.settings["max_log_lines"])
        if dropped > 0:
            line = f"{dropped} lines of output were dropped: the limit of a job was reached"
            self._send(AttemptReport(self.work.run, logs=(("warning", line),)))


def read(text: bytes) -> Any:
    return msgspec.json.decode(text)
