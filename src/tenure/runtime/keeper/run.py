"""One attempt as its keeper sees it."""

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

from tenure.config import Settings
from tenure.domain.lifecycle import Rung
from tenure.domain.options import restored
from tenure.observe.tracing import TRACE, Span
from tenure.runtime.messages import Orders
from tenure.store.outcomes import Ending
from tenure.store.results import Claimed

if TYPE_CHECKING:
    from tenure.runtime.keeper.runners import Runner

Cause = Literal["stop", "timeout", "memory", "drain", "preemption", "runner"]

_GONE = asyncio.Event()  # of all for whose end nobody waits; it is set at the first, for good


class Limits(SimpleNamespace):
    """The options of a job as attributes, with the settings of its worker for those left out."""

    def __init__(self, options: Mapping[str, Any], settings: Settings) -> None:
        read = restored(options, settings)
        super().__init__(**{**read, "ask_for": min(read["ask_for"], read["grace"])})


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
