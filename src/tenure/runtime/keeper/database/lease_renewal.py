"""The beat of a worker: renews its lease, and returns the signals for its jobs.

Trust is counted from the request, not from the answer: a slow reply must not stretch it. When it
ends, the guard freezes the jobs. The next answer of the database decides whether they continue.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import InitVar, dataclass
from typing import Any, Protocol
from uuid import UUID

from tenure.config import Settings
from tenure.errors import GuardUnavailable, LeaseLost, TenureError
from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.keeper.database.access import ask_within
from tenure.runtime.keeper.database.backoff import Backoff
from tenure.runtime.keeper.database.clock import DatabaseClock
from tenure.runtime.keeper.database.lease import Lease
from tenure.runtime.keeper.runs.run_times import MeasuredTimes
from tenure.store.calls import worker_calls
from tenure.store.results import Holding, SignalsRead
from tenure.store.serial_connection import SerialConnection

_log = logging.getLogger("tenure.worker")


class LeaseHolder(Protocol):
    """The worker whose lease is renewed."""

    @property
    def trouble(self) -> str | None:
        """Why no runner can be started, if none can."""

    @property
    def measured(self) -> MeasuredTimes:
        """The run times of its tasks."""

    def describe_runners(self) -> Mapping[str, Mapping[str, Any]]: ...

    def holdings(self) -> list[Holding]:
        """Return the jobs that it holds."""

    def receive_signals(self, answer: SignalsRead) -> None: ...

    async def thaw(self, lost: Sequence[Holding]) -> None:
        """Let frozen jobs continue, except those that were lost meanwhile."""

    def check_guard(self) -> None:
        """End a guard that is stuck."""


@dataclass(eq=False)
class LeaseRenewal:
    worker: UUID
    holder: LeaseHolder
    lease: Lease
    line: SerialConnection
    clock: DatabaseClock
    settings: InitVar[Settings]
    report_outage: Callable[[TenureError], None]

    def __post_init__(self, settings: Settings) -> None:
        self._length = settings.lease
        self._beat = settings.beat.total_seconds()
        # So that another try fits into the lease.
        self._patience = max(1.0, settings.lease.total_seconds() / 3)
        self._backoff = Backoff(first=0.1, longest=1.0)
        self._described: Mapping[str, Mapping[str, Any]] | None = (
            None  # the runners, at the last beat
        )

    async def serve(self) -> None:
        while True:
            pause = self._beat
            try:
                await self.run_once()
            except LeaseLost:
                raise
            except TenureError as problem:
                pause = self._backoff.next()
                self.report_outage(problem)
            self.holder.check_guard()
            await self._listen(pause)

    async def run_once(self) -> None:
        """Renew the lease once; raise LeaseLost if this worker has been declared dead."""
        self.lease.is_in_doubt = False
        self.lease.wake.clear()
        late = not self.lease.is_trusted
        asked_at = boottime()
        runners = self.holder.describe_runners()
        run_times = self.holder.measured.changed()
        call = worker_calls.renew(
            self.worker,
            # After a late beat, ask which jobs are left; in time, all of them are.
            self.holder.holdings() if late else [],
            trouble=self.holder.trouble,
            runners=None if runners == self._described else runners,
            run_times=run_times or None,
        )
        answer = await ask_within(self.line, call, self._patience)
        self.holder.measured.acknowledge(run_times)
        self._described = runners
        if answer.expires_at is not None:
            self.clock.learn(answer.expires_at - self._length, asked_at)
            self._backoff.reset()
            _log.debug("beat of worker %s", self.worker)
            self.lease.trust_from(asked_at)
        if late and answer.alive:
            with suppress(GuardUnavailable):  # another service sees that the guard is gone
                await self.holder.thaw(answer.lost)
        self._receive(answer)

    async def _listen(self, pause: float) -> None:
        """Wait for the next beat, and read signals that are announced meanwhile."""
        loop = asyncio.get_running_loop()
        until = loop.time() + pause
        while loop.time() < until:
            try:
                async with asyncio.timeout_at(until):
                    await self.lease.wake.wait()
            except TimeoutError:
                return
            if self.lease.is_in_doubt or not self.lease.is_trusted:
                return
            self.lease.wake.clear()
            try:
                call = worker_calls.read_signals(self.worker)
                self._receive(await ask_within(self.line, call, self._patience))
            except LeaseLost:
                raise
            except TenureError as problem:
                self.report_outage(problem)
                return

    def _receive(self, answer: SignalsRead) -> None:
        if not answer.alive:
            raise LeaseLost(f"worker {self.worker} was declared dead")
        self.holder.receive_signals(answer)
