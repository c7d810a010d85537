"""Finish what ended and claim what fits, in one call, for one tenant."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar
from uuid import UUID

import msgspec

from tenure.config import Settings
from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused, TenureError, WriteRefused
from tenure.observe.counting import Counting
from tenure.runtime.keeper.database.access import DatabaseAccess, ask_within
from tenure.runtime.keeper.database.backoff import Backoff
from tenure.runtime.keeper.database.claim_demand import ClaimDemand, PendingClaim
from tenure.runtime.keeper.database.dispatcher import ExchangeDispatcher, TenantQueue
from tenure.runtime.keeper.database.lease import Lease
from tenure.runtime.keeper.database.unwritten_endings import UnwrittenEndings
from tenure.runtime.keeper.runs.endings import unreadable_row
from tenure.runtime.keeper.runs.run_table import RunTable
from tenure.runtime.keeper.runs.runner_group import RunnerGroup
from tenure.runtime.messages import Kind
from tenure.store.call import Call
from tenure.store.calls import worker_calls
from tenure.store.outcomes import Ending
from tenure.store.results import Claim, Claimed, Exchanged, Promoted
from tenure.store.serial_connection import SerialConnection

T = TypeVar("T")

_log = logging.getLogger("tenure.worker")

BATCH = 500
_MAX_BYTES = 4 << 20  # of results in one call
_BUSY_PAUSE = 0.02


@dataclass(frozen=True)
class ExchangeDeps:
    """The parts that the exchanges of all tenants share."""

    worker: UUID
    settings: Settings
    queues: Sequence[str] | None
    dispatcher: ExchangeDispatcher
    database: DatabaseAccess
    lease: Lease
    runs: RunTable
    counts: Counting
    exchanges: Mapping[str, "Exchange"]
    open_chores: Mapping[str, set[str]]  # by name: in which tenants
    may_claim: Callable[[], bool]
    on_moved: Callable[[str], None]  # something has happened in a tenant
    on_claimed: Callable[[str, RunnerGroup, Sequence[Claimed]], None]


class Exchange(TenantQueue):
    def __init__(self, tenant: Tenant, deps: ExchangeDeps) -> None:
        self._tenant = tenant
        self._deps = deps
        self._outbox: deque[Ending] = deque()
        self._in_doubt: list[list[Ending]] = []  # sent, and without a final answer
        self._demands: dict[Kind, ClaimDemand] = {}
        self._promote = False
        self._promote_at = 0.0  # when to promote even if there is enough to do
        self._job_announced = False  # by a notice, and nothing was claimed since
        self._promote_every = deps.settings.promote_every.total_seconds()
        self._in_flight = 0
        self._claim_lost = False  # an answer was lost; what it claimed is unknown
        self._backoff = Backoff()
        self._unwritten = UnwrittenEndings(deps.worker, tenant, deps.database)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None  # to poll without a notice
        self._poll_at = 0.0  # when the timer fires

    def serve(self, group: RunnerGroup, tasks: Sequence[str]) -> None:
        self._demands[group.kind] = ClaimDemand(group, tasks)

    def tasks_of(self, kind: Kind) -> list[str]:
        return self._demands[kind].tasks

    def finish(self, endings: Sequence[Ending]) -> None:
        self._outbox.extend(endings)
        self.schedule()
        if any(ending.outcome == "released" for ending in endings):
            self._claim_below_floors()

    def wake(self) -> None:
        """Claim: there may be jobs."""
        for demand in self._demands.values():
            demand.poll_due = True
        self.schedule()

    def expect_job(self) -> None:
        """A notice announced a job; claim before anything else."""
        self._job_announced = True
        self.wake()

    def poll(self) -> None:
        """Promote and claim what no notice announced."""
        self._promote = True
        self.wake()

    def _claim_below_floors(self) -> None:
        """Claim also where jobs are that were given back."""
        for demand in self._demands.values():
            demand.floors.forget()
        self.wake()

    def promote_soon(self) -> None:
        """Promote: something may have become claimable."""
        self._promote = True
        self.schedule()

    def close(self) -> None:
        super().close()
        self._cancel_timer()

    def schedule(self) -> None:
        self._deps.dispatcher.schedule(self, urgent=self._job_announced)

    def _poll_by(self, at: float) -> None:
        if self._timer is None or at < self._poll_at:
            self._cancel_timer()
            self._poll_at = at
            self._timer = self._loop.call_at(at, self._poll_on_timer)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _poll_on_timer(self) -> None:
        self._timer = None
        self.poll()

    @property
    def undelivered(self) -> list[Ending]:
        """The endings of which it is not known whether the database has recorded them."""
        ends = (*chain.from_iterable(self._in_doubt), *self._outbox)
        return list({(end.job, end.token): end for end in ends}.values())

    @property
    def is_settled(self) -> bool:
        """True if every ending is recorded."""
        return not self._outbox and not self._in_flight

    @property
    def _has_work(self) -> bool:
        return (
            self._claim_lost
            or bool(self._outbox)
            or self._promote
            or (self._deps.may_claim() and any(map(self.wants_jobs, self._demands)))
        )

    @property
    def waits_for_capacity(self) -> bool:
        return not self._is_closed and any(d.wants_jobs for d in self._demands.values())

    def wants_jobs(self, kind: Kind) -> bool:
        """Return whether it would claim jobs of this kind now."""
        demand, free = self._demands.get(kind), self._deps.dispatcher.free
        return demand is not None and demand.wants_jobs and free(self, demand.group) > 0

    async def run_once(self, line: SerialConnection) -> None:
        if self._claim_lost:
            await self._release_unknown_claims(line)
            return
        endings, claims = self._next_endings(), self._next_claims()
        due = self._loop.time() >= self._promote_at and not self._job_announced
        promote = self._promote or due
        if promote:
            self._promote = False
            self._promote_at = self._loop.time() + self._promote_every
        if endings or claims or promote:
            await self._exchange(line, endings, claims, promote)

    def _next_endings(self) -> list[Ending]:
        endings: list[Ending] = []
        size = 0
        while self._outbox and len(endings) < BATCH and size < _MAX_BYTES:
            ending = self._outbox.popleft()
            size += len(ending.value) if isinstance(ending.value, msgspec.Raw) else 0
            endings.append(ending)
        return endings

    def _next_claims(self) -> list[PendingClaim]:
        if not self._deps.may_claim():
            return []
        claims, dispatcher = [], self._deps.dispatcher
        for demand in self._demands.values():
            free = dispatcher.free(self, demand.group)
            n = min(dispatcher.share(self, demand.group.kind, free), BATCH)
            if demand.wants_jobs and n > 0:
                demand.poll_due = False
                claims.append(demand.claim(n, self._deps.queues, self._loop.time()))
        return claims

    def _has_capacity_besides(self, claims: list[PendingClaim]) -> bool:
        """Return whether notices are wanted for jobs that this call does not claim."""
        claimed = [claim.demand for claim in claims] if len(self._deps.exchanges) == 1 else []
        return self._deps.may_claim() and any(
            demand.group.has_slot for demand in self._demands.values() if demand not in claimed
        )

    async def _exchange(
        self,
        line: SerialConnection,
        endings: list[Ending],
        claims: list[PendingClaim],
        promote: bool,
    ) -> None:
        self._in_flight += 1
        self._in_doubt.append(endings)  # and left there if the worker is cancelled meanwhile
        asked_at = self._loop.time()
        try:
            answer = await self._ask(
                line,
                worker_calls.exchange(
                    self._deps.worker,
                    endings,
                    [claim.want for claim in claims],
                    promoting=promote,
                    wants_jobs=self._has_capacity_besides(claims),
                ),
            )
        except InputRefused as problem:
            await self._send_singly(line, endings, problem)
            self.poll()  # the claims in this call were not answered
        except WriteRefused as problem:
            await self._send_apart(line, endings, claims, problem)
        except TenureError as problem:
            self._outbox.extendleft(reversed(endings))
            self._claim_lost = self._claim_lost or bool(claims)
            self._promote = True
            self._pause_for_outage(problem)
        else:
            self._backoff.reset()
            self._deps.database.report_answer()
            self._deps.counts.exchanged(self._loop.time() - asked_at)
            self._unwritten.forget(endings)
            self._handle(answer, endings, claims, asked_at)
        finally:
            self._in_flight -= 1
            for claim in claims:
                claim.close()
        self._in_doubt.remove(endings)

    async def _send_singly(
        self, line: SerialConnection, endings: list[Ending], problem: InputRefused
    ) -> None:
        """Send each ending by itself: one that cannot be recorded becomes a failure."""
        if len(endings) > 1:
            for ending in endings:
                await self._exchange(line, [ending], [], promote=False)
            return
        for ending in endings:
            about = {"tenant": self._tenant.name, "job": ending.job}
            _log.error("the end of job %d cannot be recorded: %s", ending.job, problem, extra=about)
            error = {"type": "tenure.InputRefused", "message": str(problem)}
            self._outbox.append(
                Ending(job=ending.job, token=ending.token, outcome="failed", error=error)
            )
        if not endings:
            self._pause_for_outage(problem)

    async def _send_apart(
        self,
        line: SerialConnection,
        endings: list[Ending],
        claims: list[PendingClaim],
        problem: WriteRefused,
    ) -> None:
        """Send each ending by itself, so that one that is not written holds up no other."""
        if not endings:
            self._pause_for_outage(problem)
        elif len(endings) > 1 or claims:
            for ending in endings:
                await self._exchange(line, [ending], [], promote=False)
            self.poll()  # the claims in this call were not answered
        else:
            pause = self._unwritten.pause(endings[0], problem)
            self._retry_later(endings, pause, awaited=not self._unwritten.is_given_up(endings[0]))

    def _pause_for_outage(self, problem: TenureError) -> None:
        self._deps.database.report_outage(problem)
        self.pause(self._backoff.next())

    async def _ask(self, line: SerialConnection, call: Call[T]) -> T:
        patience = self._deps.settings.lease.total_seconds()
        return await ask_within(line, call, patience, self._tenant)

    def _handle(
        self,
        answer: Exchanged[Claim],
        endings: list[Ending],
        claims: list[PendingClaim],
        asked_at: float,
    ) -> None:
        if self._is_closed:
            return  # the claimed jobs are gone with their tenant
        finished = answer.finished
        # Also if this call promoted: what was locked then waits for another promotion.
        if finished.wakes or (answer.promoted is not None and answer.promoted.more):
            self._promote = True
        if answer.promoted is not None:
            self._handle_promoted(answer.promoted)
        if any(claim.jobs for claim in answer.claims):
            self._job_announced = False
        elif claims and self._job_announced:
            self._job_announced = False
            if answer.promoted is None:
                self.poll()  # the announced job may not be ready yet
        if answer.promote_error is not None:
            self._poll_by(self._loop.time() + self._deps.settings.poll.total_seconds())
        if answer.next_due is not None:
            self._poll_by(self._loop.time() + answer.next_due)
        if endings:
            self._deps.on_moved(self._tenant.name)
        for job in finished.late:
            self._deps.runs.refuse_late_write(self._tenant.name, job, "its end")
        if finished.busy:
            again = [ending for ending in endings if ending.job in finished.busy]
            self._retry_later(again, _BUSY_PAUSE)
        for pending, claim in zip(claims, answer.claims, strict=True):
            self._handle_claim(pending, claim, asked_at)
        if answer.idled:
            self.wake()  # nobody was notified of a job that came at this moment
        if not answer.alive:
            self._deps.lease.check_now()

    def _handle_promoted(self, promoted: Promoted) -> None:
        if promoted.due or promoted.linked or promoted.targets:
            self.wake()
        for chore in promoted.chores:
            self._deps.open_chores[chore].add(self._tenant.name)

    def _retry_later(self, endings: list[Ending], pause: float, *, awaited: bool = True) -> None:
        """Send endings again; a draining worker waits for them if they are awaited."""
        self._in_flight += awaited
        self._in_doubt.append(endings)
        self._loop.call_later(pause, self._retry, endings, awaited)

    def _retry(self, endings: list[Ending], awaited: bool) -> None:
        self._in_flight -= awaited
        self._in_doubt.remove(endings)
        self.finish(endings)

    def _handle_claim(self, pending: PendingClaim, claim: Claim, asked_at: float) -> None:
        demand, since = pending.demand, pending.want.floors
        demand.floors.reached(claim.floors, since, asked_at, self._loop.time())
        demand.got_all = len(claim.jobs) + len(claim.unreadable) >= pending.want.n
        if not demand.got_all and since is not None:
            self._poll_by(demand.floors.until)
        if claim.unreadable:
            self.finish([unreadable_row(self._tenant.name, job) for job in claim.unreadable])
        pending.close()
        if claim.jobs:
            self._deps.on_claimed(self._tenant.name, demand.group, claim.jobs)

    async def _release_unknown_claims(self, line: SerialConnection) -> None:
        """Give back what a call claimed whose answer was lost."""
        if self._in_flight:
            await asyncio.sleep(_BUSY_PAUSE)
            return
        self._in_flight += 1
        try:
            held = await self._ask(line, worker_calls.held(self._deps.worker))
            known = {(ending.job, ending.token) for ending in self.undelivered}
            unknown = [
                Ending(job=holding.job, token=holding.token, unstarted=True)
                for holding in held
                if not self._deps.runs.of(self._tenant.name, holding.job, holding.token)
                and (holding.job, holding.token) not in known
            ]
            if unknown:
                released = await self._ask(line, worker_calls.release(self._deps.worker, unknown))
                if released.busy:
                    await asyncio.sleep(_BUSY_PAUSE)
                    return  # the next try finds them again
                _log.warning(
                    "%d jobs were claimed in a call that was lost: given back",
                    len(unknown),
                    extra={"tenant": self._tenant.name},
                )
        except TenureError as problem:
            self._pause_for_outage(problem)
        else:
            self._claim_lost = False
            self.wake()
        finally:
            self._in_flight -= 1
