"""One attempt as its keeper sees it."""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from tenure.config import Settings
from tenure.domain.duration import duration
from tenure.domain.lifecycle import Rung
from tenure.domain.retry import Retry
from tenure.runtime.messages import Orders
from tenure.store.outcomes import Ending
from tenure.store.results import Claimed

if TYPE_CHECKING:
    from tenure.runtime.keeper.runners import Runner

Cause = Literal["stop", "timeout", "memory", "drain", "preemption"]


class Limits:
    """What the options of a job say, with the worker's settings for what they leave out."""

    def __init__(self, options: Mapping[str, Any], settings: Settings) -> None:
        def length(name: str, default: timedelta) -> timedelta:
            return duration(options[name]) if options.get(name) is not None else default

        self.grace = length("grace", settings.stop_grace)
        self.ask_for = min(length("ask_for", settings.ask_for), self.grace)
        self.close_timeout = length("close_timeout", settings.close_timeout)
        self.last_rung = Rung(options.get("last_rung") or Rung.KILLED)
        timeout = options.get("timeout")
        self.timeout = duration(timeout) if timeout is not None else None
        deadline = options.get("deadline")
        self.deadline = datetime.fromisoformat(deadline) if deadline else None
        self.memory: int | None = options.get("memory")
        self.on_budget: str = options.get("on_budget") or "fail"
        self.preserve_artifacts: bool = options.get("preserve_artifacts", True)
        retry = options.get("retry")
        self.retry = Retry.from_options(retry) if retry is not None else settings.retry


class Run:
    __slots__ = (
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
        "rung",
        "rungs",
        "runner",
        "tenant",
        "timers",
        "unrecorded",
    )

    def __init__(self, number: int, tenant: str, job: Claimed, limits: Limits) -> None:
        self.number = number
        self.tenant = tenant
        self.job = job
        self.limits = limits
        self.runner: Runner | None = None
        self.cause: Cause | None = None  # why it is being stopped
        self.orders: Orders | None = None
        self.climbing: asyncio.Task[None] | None = None
        self.rung: Rung | None = None  # how far the ladder was climbed
        self.gone: asyncio.Event | None = None  # set when it has ended; made by who waits for it
        self.ending: Ending | None = None  # known, but waits for what it said to be recorded
        self.unrecorded = 0  # sayings on their way into the database
        self.timers: list[asyncio.TimerHandle] | None = None
        self.rungs: dict[str, str] = {}  # when each was reached
        self.killed = False  # by its own ladder
        self.lost = False  # another worker has it by now
        self.end_waits = False  # it ended, but its runner must end too
        self.lines = 0  # printed
        self.has_session = False  # in the database, for a transaction of its own

    def __str__(self) -> str:
        return f"job {self.job.id}"

    @property
    def has_ended(self) -> bool:
        return self.gone is not None and self.gone.is_set()

    def end(self) -> None:
        """Its code is gone. Whoever climbs its ladder comes down."""
        if self.gone is None:
            self.gone = asyncio.Event()
        self.gone.set()
        for timer in self.timers or ():
            timer.cancel()

    def may_print(self, most: int) -> bool:
        self.lines += 1
        return self.lines <= most

    async def ends_within(self, seconds: float) -> bool:
        if self.gone is None:
            self.gone = asyncio.Event()
        try:
            async with asyncio.timeout(max(seconds, 0)):
                await self.gone.wait()
        except TimeoutError:
            return False
        return True
