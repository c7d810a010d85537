"""The lease of a worker: renewed at every beat, and at each beat all that it must hear.

Trust is counted from the question, not from the answer: a slow reply must not stretch it. When it
ends, the guard freezes the jobs. Whether they go on is decided by the next answer of the database.
"""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from tenure.errors import GuardUnavailable, LeaseLost, TenureError
from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.keeper.asking import asked
from tenure.runtime.keeper.backoff import Backoff
from tenure.store.calls import worker_calls
from tenure.store.results import Holding, SignalsRead
from tenure.store.serial_connection import SerialConnection

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

_log = logging.getLogger("tenure.worker")


class Lease:
    def __init__(self, keeper: "Keeper", line: SerialConnection) -> None:
        self._keeper = keeper
        self._line = line
        self._length = keeper.settings.lease.total_seconds()
        self._told: Mapping[str, object] | None = None  # the runners, at the last beat
        self._margin = min(max(0.25, self._length / 10), 2.0)  # to freeze a tree in
        self._patience = max(1.0, self._length / 3)  # so that another try fits into the lease
        self._wake = asyncio.Event()
        self._in_doubt = False  # whether the lease is still ours
        self._backoff = Backoff(first=0.1, longest=1.0)
        self.trusted_until = 0.0

    def begins(self, asked_at: float) -> None:
        """It was registered by a call that was sent at this moment."""
        self._trust(asked_at)

    def look_now(self) -> None:
        """Do not wait for the beat: the lease may be lost."""
        self._in_doubt = True
        self._wake.set()

    def hear_now(self) -> None:
        """Do not wait for the beat: there is something to hear."""
        self._wake.set()

    async def serve(self) -> None:
        while True:
            pause = self._keeper.settings.beat.total_seconds()
            try:
                await self.run_once()
            except LeaseLost:
                raise
            except TenureError as problem:
                pause = self._backoff.next()
                self._keeper.note_outage(problem)
            self._keeper.watch_guard()
            await self._listen(pause)

    async def run_once(self) -> None:
        """Renew it once. Raises LeaseLost when somebody has declared this worker dead."""
        self._in_doubt = False
        self._wake.clear()
        late = self._is_late
        asked_at = boottime()
        # When some time was lost, ask what is left; to a beat in time it makes no difference.
        holding = self._holding() if late else []
        runners = self._keeper.staff.described()
        call = worker_calls.renew(
            self._keeper.id,
            holding,
            trouble=self._keeper.staff.trouble,
            runners=None if runners == self._told else runners,
        )
        answer = await asked(self._line, call, self._patience)
        self._told = runners
        if answer.expires_at is not None:
            self._keeper.clock.learn(answer.expires_at - self._keeper.settings.lease, asked_at)
            self._backoff.reset()
            _log.debug("beat of worker %s", self._keeper.id)
            self._trust(asked_at)
        if late and answer.alive:
            with suppress(GuardUnavailable):  # whoever watches it sees that it is gone
                await self._keeper.thaw(answer.lost)
        self._hear(answer)

    async def _listen(self, pause: float) -> None:
        """Until it is to be renewed. What there is to hear meanwhile is heard without renewing."""
        loop = asyncio.get_running_loop()
        until = loop.time() + pause
        while loop.time() < until:
            try:
                async with asyncio.timeout_at(until):
                    await self._wake.wait()
            except TimeoutError:
                return
            if self._in_doubt or self._is_late:
                return
            self._wake.clear()
            try:
                call = worker_calls.read_signals(self._keeper.id)
                self._hear(await asked(self._line, call, self._patience))
            except LeaseLost:
                raise
            except TenureError as problem:
                self._keeper.note_outage(problem)
                return

    @property
    def _is_late(self) -> bool:
        return self._keeper.guard.is_frozen or boottime() >= self.trusted_until

    def _hear(self, answer: SignalsRead) -> None:
        if not answer.alive:
            raise LeaseLost(f"worker {self._keeper.id} was declared dead")
        for signal in answer.signals:
            self._keeper.hear(signal)
        for name, order in answer.ending.items():
            self._keeper.stops.end_runner(name, order)
        if answer.draining:
            self._keeper.drain("somebody asked this worker to drain")

    def _trust(self, asked_at: float) -> None:
        self.trusted_until = asked_at + self._length - self._margin
        self._keeper.guard.trust_until(self.trusted_until)

    def _holding(self) -> list[Holding]:
        return [Holding(run.tenant, run.job.id, run.job.token) for run in self._keeper.runs]
