"""Finish what ended and claim what fits, in one call, for one tenant."""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused, TenureError, WriteRefused
from tenure.runtime.keeper.asking import asked
from tenure.runtime.keeper.backoff import Backoff
from tenure.runtime.keeper.crew import Crew
from tenure.runtime.keeper.desks import Customer
from tenure.runtime.keeper.starting import set_aside
from tenure.runtime.keeper.unwritten import Unwritten
from tenure.runtime.messages import Kind
from tenure.store.call import Call
from tenure.store.calls import worker_calls
from tenure.store.floors import Floors
from tenure.store.outcomes import Ending
from tenure.store.results import Claim, Exchanged, Promoted
from tenure.store.serial_connection import SerialConnection

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

T = TypeVar("T")

_log = logging.getLogger("tenure.worker")

BATCH = 500
_MOST_BYTES = 4 << 20  # of results in one call
_BUSY_PAUSE = 0.02


class Appetite:
    """Whether there may be something to claim for a crew."""

    def __init__(self, crew: Crew, tasks: Sequence[str]) -> None:
        self.crew = crew
        self.tasks = list(tasks)
        self.floors = Floors()
        self.plenty = False  # the last claim got all it asked for: both desks may ask
        self.curious = True  # one look is due; whoever asks takes it along

    @property
    def hungry(self) -> bool:
        return self.plenty or self.curious


class Asking(NamedTuple):
    """A claim on its way."""

    appetite: Appetite
    want: worker_calls.Want


class Exchange(Customer):
    def __init__(self, keeper: "Keeper", tenant: Tenant) -> None:
        self._keeper = keeper
        self._tenant = tenant
        self._outbox: deque[Ending] = deque()
        self._unheard: list[list[Ending]] = []  # said, and not answered for good
        self._appetites: dict[Kind, Appetite] = {}
        self._promote = False
        self._promote_at = 0.0  # when to promote even if there is enough to do
        self._expecting = False  # there was a notice, and nothing was claimed since
        self._promote_every = keeper.settings.promote_every.total_seconds()
        self._in_flight = 0
        self._uncertain = False  # a call was lost; what it claimed is unknown
        self._backoff = Backoff()
        self._unwritten = Unwritten(keeper, tenant)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None  # to look even if nothing was heard
        self._look_at = 0.0  # when it is set

    def serve(self, crew: Crew, tasks: Sequence[str]) -> None:
        self._appetites[crew.kind] = Appetite(crew, tasks)

    def tasks_of(self, kind: Kind) -> list[str]:
        return self._appetites[kind].tasks

    def finish(self, endings: Sequence[Ending]) -> None:
        self._outbox.extend(endings)
        self.line_up()
        if any(ending.outcome == "released" for ending in endings):
            self._look_everywhere()

    def wake(self) -> None:
        """There may be something to claim."""
        for appetite in self._appetites.values():
            appetite.curious = True
        self.line_up()

    def expect(self) -> None:
        """There is something, somebody said; who waits for it waits for us."""
        self._expecting = True
        self.wake()

    def look(self) -> None:
        """Whatever there may be to do that nobody was told of."""
        self._promote = True
        self.wake()

    def _look_everywhere(self) -> None:
        """Also below the floors, where jobs are that were given back."""
        for appetite in self._appetites.values():
            appetite.floors.forget()
        self.wake()

    def promote_soon(self) -> None:
        """Something was left that may have become claimable."""
        self._promote = True
        self.line_up()

    def close(self) -> None:
        super().close()
        self._forget_timer()

    def line_up(self) -> None:
        self._keeper.exchange_desks.line_up(self, awaited=self._expecting)

    def _look_by(self, at: float) -> None:
        if self._timer is None or at < self._look_at:
            self._forget_timer()
            self._look_at = at
            self._timer = self._loop.call_at(at, self._look_now)

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look_now(self) -> None:
        self._timer = None
        self.look()

    @property
    def unsaid(self) -> list[Ending]:
        """What has ended, and nobody knows whether the database has heard it."""
        ends = (*chain.from_iterable(self._unheard), *self._outbox)
        return list({(end.job, end.token): end for end in ends}.values())

    @property
    def is_quiet(self) -> bool:
        """Whether everything that ended is recorded."""
        return not self._outbox and not self._in_flight

    @property
    def _is_waiting(self) -> bool:
        return (
            self._uncertain
            or bool(self._outbox)
            or self._promote
            or (self._may_claim and any(map(self.has_appetite_for, self._appetites)))
        )

    @property
    def waits_for_room(self) -> bool:
        return not self._is_closed and any(appetite.hungry for appetite in self._appetites.values())

    def has_appetite_for(self, kind: Kind) -> bool:
        """Whether it would claim such jobs now."""
        appetite = self._appetites.get(kind)
        return appetite is not None and appetite.hungry and appetite.crew.free > 0

    async def run_once(self, line: SerialConnection) -> None:
        if self._uncertain:
            await self._settle(line)
            return
        endings, asks = self._take(), self._asks()
        due = self._loop.time() >= self._promote_at and not self._expecting
        promote = self._promote or due
        if promote:
            self._promote = False
            self._promote_at = self._loop.time() + self._promote_every
        if endings or asks or promote:
            await self._exchange(line, endings, asks, promote)

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
            crew = appetite.crew
            n = min(self._keeper.exchange_desks.share(self, crew.kind, crew.free), BATCH)
            if appetite.hungry and n > 0:
                crew.room.take(n)
                appetite.curious = False
                asks.append(Asking(appetite, self._want(appetite, n)))
        return asks

    def _has_room_beside(self, asks: list[Asking]) -> bool:
        """Whether it is to be told of jobs that this call does not ask for."""
        asked = [asking.appetite for asking in asks] if len(self._keeper.exchanges) == 1 else []
        return self._may_claim and any(
            appetite.crew.free > 0 for appetite in self._appetites.values() if appetite not in asked
        )

    async def _exchange(
        self,
        line: SerialConnection,
        endings: list[Ending],
        asks: list[Asking],
        promote: bool,
    ) -> None:
        self._in_flight += 1
        self._unheard.append(endings)  # and left there if the worker dies meanwhile
        asked_at = self._loop.time()
        try:
            answer = await self._ask(
                line,
                worker_calls.exchange(
                    self._keeper.id,
                    endings,
                    [asking.want for asking in asks],
                    promoting=promote,
                    wants_jobs=self._has_room_beside(asks),
                ),
            )
        except InputRefused as problem:
            await self._one_by_one(line, endings, problem)
            self.look()  # what it asked for besides was not answered
        except WriteRefused as problem:
            await self._apart(line, endings, asks, problem)
        except TenureError as problem:
            self._outbox.extendleft(reversed(endings))
            self._uncertain = self._uncertain or bool(asks)
            self._promote = True
            self._away(problem)
        else:
            self._backoff.reset()
            self._keeper.back()
            self._keeper.counts.exchanged(self._loop.time() - asked_at)
            self._unwritten.forget(endings)
            self._heard(answer, endings, asks, asked_at)
        finally:
            self._in_flight -= 1
            for asking in asks:
                asking.appetite.crew.room.leave(asking.want.n)
        self._unheard.remove(endings)

    async def _one_by_one(
        self, line: SerialConnection, endings: list[Ending], problem: InputRefused
    ) -> None:
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
                extra={"tenant": self._tenant.name, "job": ending.job},
            )
            error = {"type": "tenure.InputRefused", "message": str(problem)}
            self._outbox.append(
                Ending(job=ending.job, token=ending.token, outcome="failed", error=error)
            )
        if not endings:
            self._away(problem)

    async def _apart(
        self,
        line: SerialConnection,
        endings: list[Ending],
        asks: list[Asking],
        problem: WriteRefused,
    ) -> None:
        """Write each end by itself, so that one that cannot be written holds up no other."""
        if not endings:
            self._away(problem)
        elif len(endings) > 1 or asks:
            for ending in endings:
                await self._exchange(line, [ending], [], promote=False)
            self.look()  # what it asked for besides was not answered
        else:
            pause = self._unwritten.pause(endings[0], problem)
            self._say_later(endings, pause, awaited=not self._unwritten.is_given_up(endings[0]))

    def _away(self, problem: TenureError) -> None:
        """The database could not be asked."""
        self._keeper.note_outage(problem)
        self.rest(self._backoff.next())

    async def _ask(self, line: SerialConnection, call: Call[T]) -> T:
        patience = self._keeper.settings.lease.total_seconds()
        return await asked(line, call, patience, self._tenant)

    def _want(self, appetite: Appetite, n: int) -> worker_calls.Want:
        return worker_calls.Want(
            n=n,
            queues=self._keeper.queues,
            tasks=appetite.tasks,
            floors=appetite.floors.at(self._loop.time()),
        )

    def _heard(
        self, answer: Exchanged, endings: list[Ending], asks: list[Asking], asked_at: float
    ) -> None:
        if self._is_closed:
            return  # what was claimed went with its tenant
        finished = answer.finished
        # Also when it has promoted in the same call: what was locked then waits for another.
        if finished.wakes or (answer.promoted is not None and answer.promoted.more):
            self._promote = True
        if answer.promoted is not None:
            self._promoted(answer.promoted)
        if any(claim.jobs for claim in answer.claims):
            self._expecting = False
        elif asks and self._expecting:
            self._expecting = False
            if answer.promoted is None:
                self.look()  # it may not be ready yet
        if answer.promote_error is not None:
            self._look_by(self._loop.time() + self._keeper.settings.poll.total_seconds())
        if answer.next_due is not None:
            self._look_by(self._loop.time() + answer.next_due)
        if endings:
            self._keeper.stirs.moved(self._tenant.name)
        for job in finished.late:
            self._keeper.refused(self._tenant.name, job, "its end")
        if finished.busy:
            again = [ending for ending in endings if ending.job in finished.busy]
            self._say_later(again, _BUSY_PAUSE)
        for asking, claim in zip(asks, answer.claims, strict=True):
            self._answered(asking, claim, asked_at)
        if answer.idled:
            self.wake()  # a job that came in this moment was announced to nobody
        if not answer.alive:
            self._keeper.lease.look_now()

    def _promoted(self, promoted: Promoted) -> None:
        if promoted.due or promoted.linked or promoted.targets:
            self.wake()
        for chore in promoted.chores:
            self._keeper.chores[chore].add(self._tenant.name)

    def _say_later(self, endings: list[Ending], pause: float, *, awaited: bool = True) -> None:
        """Say these again; a worker that leaves waits for them if they are awaited."""
        self._in_flight += awaited
        self._unheard.append(endings)
        self._loop.call_later(pause, self._say_again, endings, awaited)

    def _say_again(self, endings: list[Ending], awaited: bool) -> None:
        self._in_flight -= awaited
        self._unheard.remove(endings)
        self.finish(endings)

    def _answered(self, asking: Asking, claim: Claim, asked_at: float) -> None:
        appetite, since = asking.appetite, asking.want.floors
        appetite.floors.reached(claim.floors, since, asked_at, self._loop.time())
        appetite.plenty = len(claim.jobs) + len(claim.unreadable) >= asking.want.n
        if not appetite.plenty and since is not None:
            self._look_by(appetite.floors.until)
        if claim.unreadable:
            self.finish([set_aside(self._tenant.name, job) for job in claim.unreadable])
        if claim.jobs:
            self._keeper.runs.claimed(self._tenant.name, appetite.crew, claim.jobs)

    async def _settle(self, line: SerialConnection) -> None:
        """A call was lost on the way: give back what was claimed without our knowing."""
        if self._in_flight:
            await asyncio.sleep(_BUSY_PAUSE)
            return
        self._in_flight += 1
        try:
            held = await self._ask(line, worker_calls.held(self._keeper.id))
            unknown = [
                Ending(job=one.job, token=one.token, unstarted=True)
                for one in held
                if not self._keeper.runs.of(self._tenant.name, one.job, one.token)
                and not any(end.job == one.job and end.token == one.token for end in self.unsaid)
            ]
            if unknown:
                released = await self._ask(line, worker_calls.release(self._keeper.id, unknown))
                if released.busy:
                    await asyncio.sleep(_BUSY_PAUSE)
                    return  # the next look finds them again
                _log.warning(
                    "%d jobs were claimed in a call that was lost: given back",
                    len(unknown),
                    extra={"tenant": self._tenant.name},
                )
        except TenureError as problem:
            self._away(problem)
        else:
            self._uncertain = False
            self.wake()
        finally:
            self._in_flight -= 1
