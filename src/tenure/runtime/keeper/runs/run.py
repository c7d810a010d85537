"""An attempt as its keeper sees it."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

from tenure.config import Settings
from tenure.domain.lifecycle import Rung
from tenure.domain.options import restored
from tenure.errors import TenureError
from tenure.observe.tracing import TRACE, Span
from tenure.runtime.messages import Orders, Work
from tenure.store.outcomes import Ending
from tenure.store.results import Claimed

if TYPE_CHECKING:
    from tenure.runtime.keeper.runs.runner import Runner

Cause = Literal["stop", "timeout", "memory", "drain", "preemption", "runner"]

_AT_ONCE = 0.005  # seconds
_GONE = asyncio.Event()  # shared by runs for whose end nobody waits; set once, for good


class RunLimits(SimpleNamespace):
    """The options of a job as attributes, with the settings of its worker for those left out."""

    def __init__(self, options: Mapping[str, Any], settings: Settings) -> None:
        read = restored(options, settings)
        super().__init__(**{**read, "ask_for": min(read["ask_for"], read["grace"])})


@dataclass(eq=False, slots=True)
class Run:
    number: int
    tenant: str
    job: Claimed
    limits: RunLimits
    alone: bool = False  # has a runner to itself
    runner: "Runner | None" = None
    claimed_at: float = 0.0  # loop time
    started_at: float | None = None  # loop time at which it began, as far as is known
    cause: Cause | None = None  # why it is being stopped
    orders: Orders | None = None
    climbing: asyncio.Task[None] | None = None
    stop_signal: Mapping[str, Any] | None = None  # the latest that the database sent
    inspection: int | None = None  # the latest that was asked for
    rung: Rung | None = None  # how far the ladder was climbed
    gone: asyncio.Event | None = None  # set when it has ended; made on demand
    ending: Ending | None = None  # waits for the reports to be recorded
    unrecorded: int = 0  # reports on their way into the database
    dropped: TenureError | None = None  # why a report was; the next flush tells
    timers: list[asyncio.TimerHandle] | None = None
    # Timestamps of its stop: delivered, a rung, cleaning.
    reached: dict[str, str] = field(default_factory=dict)
    killed: bool = False  # by its own ladder
    lost: bool = False  # another worker has it by now
    end_waits: bool = False  # it ended, but its runner must end too
    lines: int = 0  # printed
    # Grants and reservations that its code waits for no longer, as they are settled; by number.
    withdrawn: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    overspent: bool = False  # its budget; its stop is requested
    has_session: bool = False  # in the database, for a transaction of its own
    span: Span | None = None  # of its ladder, if tracing is on

    def __str__(self) -> str:
        return f"job {self.job.id}"

    @property
    def about(self) -> dict[str, Any]:
        """The fields of log lines about this run."""
        fields = {"tenant": self.tenant, "job": self.job.id, "attempt": self.job.attempt}
        record = self.orders.cancellation_id if self.orders else None
        return fields if record is None else {**fields, "cancellation": record}

    @property
    def has_ended(self) -> bool:
        return self.gone is not None and self.gone.is_set()

    @property
    def waited(self) -> float | None:
        """The seconds from its claim until it began; None if it began at once."""
        seconds = 0.0 if self.started_at is None else self.started_at - self.claimed_at
        return round(seconds, 4) if seconds >= _AT_ONCE else None

    @property
    def is_interrupted(self) -> bool:
        """True if a stop has interrupted it, or asked it, if it may not be interrupted."""
        return self.rung is not None and self.rung >= min(Rung.INTERRUPTED, self.limits.last_rung)

    @property
    def trace(self) -> str | None:
        """The span that enqueued its job, if tracing is on."""
        trace = self.job.options.get(TRACE) if self.job.options else None
        return trace if isinstance(trace, str) else None

    @property
    def work(self) -> Work:
        """The message that starts it in a runner."""
        job = self.job
        return Work(
            self.number,
            job.id,
            job.token,
            job.task,
            job.queue,
            job.raw_args,
            job.attempt,
            job.max_attempts,
            job.crashes,
            job.priority,
            job.owner,
            job.root_id,
            job.parent_id,
            job.key,
            job.target,
            job.slots,
            job.raw_checkpoint,
            self.limits.close_timeout.total_seconds(),
            self.limits.preserve_artifacts,
            self.trace if job.options else None,
            job.raw_resume_value,
        )

    def end(self) -> None:
        """Note that its code is gone, which also ends its ladder."""
        if self.gone is None:
            self.gone = _GONE
        self.gone.set()
        for timer in self.timers or ():
            timer.cancel()
        if self.span is not None:
            self.span.end()

    def may_print(self, limit: int) -> bool:
        self.lines += 1
        return self.lines <= limit

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
