"""One attempt as its keeper sees it."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from tenure.config import Settings
from tenure.domain.duration import duration
from tenure.domain.lifecycle import Rung
from tenure.domain.retry import Retry
from tenure.errors import InputRefused, TenureError
from tenure.observe.tracing import TRACE, Span
from tenure.runtime.messages import Orders
from tenure.store.outcomes import Ending
from tenure.store.results import Claimed

if TYPE_CHECKING:
    from tenure.runtime.keeper.runners import Runner

Cause = Literal["stop", "timeout", "memory", "drain", "preemption", "runner"]

_GONE = asyncio.Event()  # of all for whose end nobody waits; it is set at the first, for good


class Limits:
    """What the options of a job say, with the worker's settings for what they leave out.

    They were stored by whoever enqueued it, so each may be anything that JSON has: InputRefused.
    """

    def __init__(self, options: Mapping[str, Any], settings: Settings) -> None:
        self.grace = _read(options, "grace", duration, settings.stop_grace)
        self.ask_for = min(_read(options, "ask_for", duration, settings.ask_for), self.grace)
        self.close_timeout = _read(options, "close_timeout", duration, settings.close_timeout)
        self.last_rung = _read(options, "last_rung", Rung, Rung(settings.last_rung))
        self.timeout: timedelta | None = _read(options, "timeout", duration, None)
        self.deadline: datetime | None = _read(options, "deadline", _moment, None)
        self.memory: int | None = _read(options, "memory", _of(int), None)
        self.on_budget: str = _read(options, "on_budget", _of(str), "fail")
        self.preserve_artifacts: bool = _read(options, "preserve_artifacts", _of(bool), True)
        self.retry = _read(options, "retry", Retry.from_options, settings.retry)


def _read(options: Mapping[str, Any], name: str, read: Callable[[Any], Any], default: Any) -> Any:
    value = options.get(name)
    if value is None:
        return default
    try:
        return read(value)
    except (TenureError, TypeError, ValueError, OverflowError) as problem:
        raise InputRefused(f"the option {name} of this job cannot be read: {problem}") from None


def _moment(text: Any) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return moment


def _of(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        return msgspec.convert(value, kind)

    return read


class Run:
    __slots__ = (
        "alone",
        "cause",
        "climbing",
        "end_waits",
        "ending",
        "gone",
        "has_session",
        "job",
        "killed",
        "limits",
        "lines",
        "lost",
        "number",
        "orders",
        "overspent",
        "reached",
        "rung",
        "runner",
        "span",
        "started_at",
        "tenant",
        "timers",
        "unrecorded",
    )

    def __init__(self, number: int, tenant: str, job: Claimed, limits: Limits) -> None:
        self.number = number
        self.tenant = tenant
        self.job = job
        self.limits = limits
        self.alone = False  # in a runner of its own
        self.runner: Runner | None = None
        self.started_at: float | None = None  # when it came to a runner that was ready
        self.cause: Cause | None = None  # why it is being stopped
        self.orders: Orders | None = None
        self.climbing: asyncio.Task[None] | None = None
        self.rung: Rung | None = None  # how far the ladder was climbed
        self.gone: asyncio.Event | None = None  # set when it has ended; made by who waits for it
        self.ending: Ending | None = None  # known, but waits for what it said to be recorded
        self.unrecorded = 0  # sayings on their way into the database
        self.timers: list[asyncio.TimerHandle] | None = None
        self.reached: dict[str, str] = {}  # moments of its stop: delivered, a rung, cleaning
        self.killed = False  # by its own ladder
        self.lost = False  # another worker has it by now
        self.end_waits = False  # it ended, but its runner must end too
        self.lines = 0  # printed
        self.overspent = False  # its stop is asked for
        self.has_session = False  # in the database, for a transaction of its own
        self.span: Span | None = None  # of its ladder, if somebody traces

    def __str__(self) -> str:
        return f"job {self.job.id}"

    @property
    def about(self) -> dict[str, Any]:
        """What a line in the log that is about it says of it."""
        told = {"tenant": self.tenant, "job": self.job.id, "attempt": self.job.attempt}
        record = self.orders.cancellation_id if self.orders else None
        return told if record is None else {**told, "cancellation": record}

    @property
    def has_ended(self) -> bool:
        return self.gone is not None and self.gone.is_set()

    @property
    def is_interrupted(self) -> bool:
        """Or asked to stop, if it is not to be interrupted."""
        return self.rung is not None and self.rung >= min(Rung.INTERRUPTED, self.limits.last_rung)

    @property
    def trace(self) -> str | None:
        """The span that enqueued its job, if somebody traces."""
        trace = self.job.options.get(TRACE) if self.job.options else None
        return trace if isinstance(trace, str) else None

    def end(self) -> None:
        """Its code is gone. Whoever climbs its ladder comes down."""
        if self.gone is None:
            self.gone = _GONE
        self.gone.set()
        for timer in self.timers or ():
            timer.cancel()
        if self.span is not None:
            self.span.end()

    def may_print(self, most: int) -> bool:
        self.lines += 1
        return self.lines <= most

    async def ends_within(self, seconds: float) -> bool:
        if seconds <= 0:
            return self.has_ended
        if self.gone is None:
            self.gone = asyncio.Event()
        try:
            async with asyncio.timeout(seconds):
                await self.gone.wait()
        except TimeoutError:
            return False
        return True
