"""Finish what ended and claim what fits, in one call, for one tenant.

Two desks take turns at it, each with a connection of its own, so that the database works on one
call while the answer to the other is being handled.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from tenure.errors import InputRefused, TenureError
from tenure.runtime.keeper.asking import asked
from tenure.runtime.keeper.backoff import Backoff
from tenure.runtime.keeper.crew import Crew
from tenure.runtime.messages import Kind
from tenure.store.call import Call
from tenure.store.calls import working
from tenure.store.line import Line
from tenure.store.outcomes import Ending
from tenure.store.results import Claim, Exchanged

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

T = TypeVar("T")

_log = logging.getLogger("tenure.worker")

DESKS = 2
BATCH = 250
_MOST_BYTES = 4 << 20  # of results in one call
_FLOORS_FOR = 1.0  # seconds; who committed late is below the floors
_BUSY_PAUSE = 0.02


class Appetite:
    """Whether there may be something to claim for a crew."""

    def __init__(self, crew: Crew, tasks: Sequence[str]) -> None:
        self.crew = crew
        self.tasks = list(tasks)
        self.floors: str | None = None
        self.floors_until = 0.0
        self.plenty = False  # the last claim got all it asked for: both desks may ask
        self.curious = True  # one look is due; whoever asks takes it along

    @property
    def hungry(self) -> bool:
        return self.plenty or self.curious


class Asking(NamedTuple):
    """A claim on its way."""

    appetite: Appetite
    want: working.Want


class Exchange:
    def __init__(self, keeper: "Keeper", tenant: str) -> None:
        self._keeper = keeper
        self._tenant = tenant
        self._outbox: deque[Ending] = deque()
        self._appetites: dict[Kind, Appetite] = {}
        self._changed = asyncio.Event()
        self._promote = True
        self._look_at = 0.0  # when to look even if nothing was heard
        self._promote_at = 0.0  # when to promote even if there is enough to do
        self._promote_every = keeper.settings.promote_every.total_seconds()
        self._in_flight = 0
        self._uncertain = False  # a call was lost; what it claimed is unknown
        self._backoff = Backoff()
        self._loop = asyncio.get_running_loop()

    def serve(self, crew: Crew, tasks: Sequence[str]) -> None:
        self._appetites[crew.kind] = Appetite(crew, tasks)

    def tasks_of(self, kind: Kind) -> list[str]:
        return self._appetites[kind].tasks

    def finish(self, endings: Sequence[Ending]) -> None:
        self._outbox.extend(endings)
        self._changed.set()
        if any(ending.outcome == "released" for ending in endings):
            self._look_everywhere()

    def wake(self) -> None:
        """There may be something to claim."""
        for appetite in self._appetites.values():
            appetite.curious = True
        self._changed.set()

    def _look_everywhere(self) -> None:
        """Also below the floors, where jobs are that were given back."""
        for appetite in self._appetites.values():
            appetite.floors = None
        self.wake()

    def promote_soon(self) -> None:
        """Something was left that may have become claimable."""
        self._promote = True
        self._changed.set()

    @property
    def is_quiet(self) -> bool:
        """Whether everything that ended is recorded."""
        return not self._outbox and not self._in_flight

    async def desk(self, line: Line) -> None:
        while True:
            await self._something_to_do()
            if self._uncertain:
                await self._settle(line)
                continue
            endings, asks = self._take(), self._asks()
            promote = self._promote or self._loop.time() >= self._promote_at
            if promote:
                self._promote = False
                self._promote_at = self._loop.time() + self._promote_every
            if endings or asks or promote:
                await self._exchange(line, endings, asks, promote)

    async def _something_to_do(self) -> None:
        while not (self._uncertain or self._outbox or self._promote or self._has_appetite()):
            self._changed.clear()
            now = self._loop.time()
            if now >= self._look_at:
                self._look_at = now + self._keeper.settings.poll.total_seconds()
                self._promote = True
                self.wake()
                return
            try:
                async with asyncio.timeout_at(self._look_at):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def _has_appetite(self) -> bool:
        return self._may_claim and any(
            appetite.hungry and appetite.crew.free > 0 for appetite in self._appetites.values()
        )

    @property
    def _may_claim(self) -> bool:
        """A guard that is gone starts nothing: its jobs are for the next life of this worker."""
        return self._keeper.may_claim and not self._keeper.guard.is_gone

    def _take(self) -> list[Ending]:
        endings: list[Ending] = []
        size = 0
        while self._outbox and len(endings) < BATCH and size < _MOST_BYTES:
            ending = self._outbox.popleft()
            size += len(ending.value) if isinstance(ending.value, msgspec.Raw) else 0
            endings.append(ending)
        return endings

    def _asks(self) -> list[Asking]:
        if not self._may_claim:
            return []
        asks = []
        for appetite in self._appetites.values():
            n = min(appetite.crew.free, BATCH)
            if appetite.hungry and n > 0:
                appetite.crew.reserved += n
                appetite.curious = False
                asks.append(Asking(appetite, self._want(appetite, n)))
        return asks

    def _has_room_beside(self, asks: list[Asking]) -> bool:
        """Whether it is to be told of jobs that this call does not ask for."""
        asked = [asking.appetite for asking in asks]
        return self._may_claim and any(
            appetite.crew.free > 0 for appetite in self._appetites.values() if appetite not in asked
        )

    async def _exchange(
        self,
        line: Line,
        endings: list[Ending],
        asks: list[Asking],
        promote: bool,
    ) -> None:
        self._in_flight += 1
        asked_at = self._loop.time()
        try:
            answer = await self._ask(
                line,
                working.exchange(
                    self._keeper.id,
                    endings,
                    [asking.want for asking in asks],
                    promoting=promote,
                    hungry=self._has_room_beside(asks),
                ),
            )
        except InputRefused as problem:
            await self._one_by_one(line, endings, problem)
        except TenureError as problem:
            self._outbox.extendleft(reversed(endings))
            self._uncertain = self._uncertain or bool(asks)
            self._promote = True
            await self._keeper.database_is_away(problem, self._backoff)
        else:
            self._backoff.reset()
            self._keeper.back()
            self._keeper.counts.exchanged(self._loop.time() - asked_at)
            self._heard(answer, endings, asks)
        finally:
            self._in_flight -= 1
            for asking in asks:
                asking.appetite.crew.reserved -= asking.want.n

    async def _one_by_one(self, line: Line, endings: list[Ending], problem: InputRefused) -> None:
        """One of them cannot be taken. It ends failed; the others are not lost with it."""
        if len(endings) > 1:
            for ending in endings:
                await self._exchange(line, [ending], [], promote=False)
            return
        for ending in endings:
            _log.error(
                "the end of job %d cannot be recorded: %s",
                ending.job,
                problem,
                extra={"tenant": self._tenant, "job": ending.job},
            )
            error = {"type": "tenure.InputRefused", "message": str(problem)}
            self._outbox.append(
                Ending(job=ending.job, token=ending.token, outcome="failed", error=error)
            )
        if not endings:
            await self._keeper.database_is_away(problem, self._backoff)

    async def _ask(self, line: Line, call: Call[T]) -> T:
        patience = self._keeper.settings.lease.total_seconds()
        return await asked(line, call, patience, self._keeper.tenant(self._tenant))

    def _want(self, appetite: Appetite, n: int) -> working.Want:
        now = self._loop.time()
        if now >= appetite.floors_until:
            appetite.floors, appetite.floors_until = None, now + _FLOORS_FOR
        return working.Want(
            n=n, queues=self._keeper.queues, tasks=appetite.tasks, floors=appetite.floors
        )

    def _heard(self, answer: Exchanged, endings: list[Ending], asks: list[Asking]) -> None:
        finished = answer.finished
        # Also when it has promoted in the same call: what was locked then waits for another.
        if finished.wakes or (answer.promoted is not None and answer.promoted.more):
            self._promote = True
        if answer.promoted is not None and (
            answer.promoted.due or answer.promoted.linked or answer.promoted.targets
        ):
            self.wake()
        if answer.next_due is not None:
            due = self._loop.time() + answer.next_due
            self._look_at = min(self._look_at, due)
            self._promote_at = min(self._promote_at, due)
        for job in finished.refused:
            self._keeper.refused(self._tenant, job, "its end")
        if finished.busy:
            self._in_flight += 1
            again = [ending for ending in endings if ending.job in finished.busy]
            self._loop.call_later(_BUSY_PAUSE, self._say_again, again)
        for asking, claim in zip(asks, answer.claims, strict=True):
            self._answered(asking, claim)
        if answer.idled:
            self.wake()  # a job that came in this moment was announced to nobody
        if not answer.alive:
            self._keeper.lease.look_now()

    def _say_again(self, endings: list[Ending]) -> None:
        self._in_flight -= 1
        self.finish(endings)

    def _answered(self, asking: Asking, claim: Claim) -> None:
        appetite = asking.appetite
        appetite.floors = claim.floors
        appetite.plenty = len(claim.jobs) >= asking.want.n
        if not appetite.plenty and asking.want.floors is not None:
            self._look_at = min(self._look_at, appetite.floors_until)
        if claim.jobs:
            self._keeper.runs.claimed(self._tenant, appetite.crew, claim.jobs)

    async def _settle(self, line: Line) -> None:
        """A call was lost on the way: give back what was claimed without our knowing."""
        if self._in_flight:
            self._changed.clear()
            await asyncio.sleep(_BUSY_PAUSE)
            return
        self._in_flight += 1
        try:
            held = await self._ask(line, working.held(self._keeper.id))
            unknown = [
                Ending(job=one.job, token=one.token)
                for one in held
                if not self._keeper.runs.of(self._tenant, one.job, one.token)
                and not any(end.job == one.job and end.token == one.token for end in self._outbox)
            ]
            if unknown:
                released = await self._ask(line, working.release(self._keeper.id, unknown))
                if released.busy:
                    await asyncio.sleep(_BUSY_PAUSE)
                    return  # the next look finds them again
                _log.warning(
                    "%d jobs were claimed in a call that was lost: given back",
                    len(unknown),
                    extra={"tenant": self._tenant},
                )
        except TenureError as problem:
            await self._keeper.database_is_away(problem, self._backoff)
        else:
            self._uncertain = False
            self.wake()
        finally:
            self._in_flight -= 1
