"""What a keeper does again and again, beside its jobs. Nobody leads: every worker does it all."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from tenure.domain.lifecycle import State
from tenure.errors import StoreUnavailable, TenureError
from tenure.runtime.guard.page import boottime
from tenure.runtime.keeper.stirs import Turns
from tenure.store.results import Recovered
from tenure.store.ruled import Bulk, Discard
from tenure.store.store import AsyncStore

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

_log = logging.getLogger("tenure.worker")

PRUNE_EVERY = timedelta(minutes=10)
ROLL_UP_EVERY = timedelta(minutes=1)
LOOKS = 8  # by workers for the artifacts of a job, before what nobody found counts as gone


async def every(pause: timedelta, run_once: Callable[[], Awaitable[object]]) -> None:
    """With jitter, so that workers that started together do not go on together."""
    while True:
        await asyncio.sleep(pause.total_seconds() * (0.75 + random.random() / 4))  # noqa: S311
        try:
            await run_once()
        except StoreUnavailable as problem:
            _log.debug("%s", problem)
        except TenureError as problem:
            _log.warning("%s", problem)


async def visit_each(
    keeper: "Keeper", tenants: Iterable[str], visit: Callable[[str], Awaitable[object]]
) -> None:
    """One that cannot be visited holds up nobody; two in a row, and it is the database."""
    failed: StoreUnavailable | None = None
    for tenant in tenants:
        if tenant not in keeper.exchanges:
            continue
        try:
            await visit(tenant)
        except StoreUnavailable as problem:
            if failed is not None:
                raise
            failed = problem
            _log.debug("%s", problem, extra={"tenant": tenant})
        except TenureError as problem:
            _log.warning("%s", problem, extra={"tenant": tenant})
        else:
            failed = None


class Recovery:
    """Declares the dead, and takes their jobs back."""

    def __init__(self, keeper: "Keeper") -> None:
        self._keeper = keeper
        self._turns = Turns(keeper.exchanges)

    async def run_once(self) -> None:
        if boottime() >= self._keeper.lease.trusted_until:
            return  # who is late renews first, or it would be the first to declare itself dead
        settings = self._keeper.settings
        found = await self._keeper.shared.sweep(settings.recover_grace)
        for dead in found.dead:
            _log.warning(
                "worker %s (host %s, pid %d) is dead: its last beat was at %s",
                dead.worker_id,
                dead.host,
                dead.pid,
                dead.beat_at,
            )
        everybody = settings.pending_orphan_after is not None
        n = len(self._keeper.exchanges) if everybody else 1
        await visit_each(self._keeper, {*self._turns.next(n), *found.tenants}, self._recover)

    async def _recover(self, tenant: str) -> None:
        settings = self._keeper.settings
        found = await self._keeper.store(tenant).recover(
            grace=settings.recover_grace,
            orphan_after=settings.orphan_after,
            pending_after=settings.pending_orphan_after,
            message=settings.orphan_message,
        )
        for job in found.recovered:
            about = {"tenant": tenant, "job": job.job}
            whose = whose_it_was(job)
            _log.warning("recovered job %d%s: it is %s", job.job, whose, job.state, extra=about)
        if found.recovered and tenant in self._keeper.exchanges:
            self._keeper.exchanges[tenant].promote_soon()


def whose_it_was(job: Recovered) -> str:
    """The dead worker of a job that was recovered, as far as it is known."""
    if job.worker is None:
        return ""
    known = f" (host {job.host}, pid {job.pid}, last beat at {job.beat_at})" if job.host else ""
    return f" of worker {job.worker}{known}"


class Chore:
    """Something to do for each tenant. Nobody waits for it, and one worker is enough.

    It visits tenants in which something has happened since it found nothing to do there, and some
    of the others in turn.
    """

    def __init__(self, keeper: "Keeper") -> None:
        self._keeper = keeper
        self._turns = Turns(keeper.exchanges)
        self._done: dict[str, int] = {}  # by tenant: how often it had moved by then

    async def run_once(self) -> None:
        moves = self._keeper.stirs.moves
        moved = [name for name, times in moves.items() if self._done.get(name) != times]
        await visit_each(self._keeper, {*moved, *self._turns.next(self.others)}, self._visit)

    async def _visit(self, tenant: str) -> None:
        times = self._keeper.stirs.moves.get(tenant, 0)
        again = await self.visit(self._keeper.store(tenant))
        self._done[tenant] = -1 if again else times

    @property
    def others(self) -> int:
        """How many it visits in any case."""
        return 1

    async def visit(self, store: AsyncStore) -> bool:
        """Whether to come again, even if nothing happens."""
        raise NotImplementedError


class Pruning(Chore):
    """Forgets what has been kept long enough; of each tenant, within the hour."""

    async def visit(self, store: AsyncStore) -> bool:
        settings = self._keeper.settings
        kept = {
            State.COMPLETED: settings.keep_completed,
            State.FAILED: settings.keep_failed,
            State.CANCELLED: settings.keep_cancelled,
        }
        keep = {state: span for state, span in kept.items() if span is not None}
        while (await store.prune(keep, keep_events=settings.keep_events)).more:
            pass
        return False

    @property
    def others(self) -> int:
        return -(-len(self._keeper.exchanges) // 6)


class Policies(Chore):
    """Stops what policies reach. Each is looked at once in a while, by whichever worker comes."""

    async def visit(self, store: AsyncStore) -> bool:
        # Half of it, because of the jitter: a look that comes a little early counts as the next.
        every = self._keeper.settings.policies_every / 2
        more = True
        while more:
            enforced = await store.enforce_policies(every=every)
            if enforced.stopped or enforced.failed:
                _log.info(
                    "policies stopped %d jobs, and %d could not be stopped",
                    enforced.stopped,
                    enforced.failed,
                )
            more = enforced.more
        return enforced.enabled > 0


class Rollups(Chore):
    """Counts what ended, for the history; a fleet counts once."""

    async def visit(self, store: AsyncStore) -> bool:
        more = True
        while more:
            counted = await store.roll_up(every=ROLL_UP_EVERY / 2)
            more = counted.more
        moved_at = self._keeper.stirs.moved_at.get(store.tenant.name)
        return moved_at is not None and (counted.until is None or counted.until < moved_at)


class Bulks(Chore):
    """Carries on bulk stops that somebody began."""

    async def visit(self, store: AsyncStore) -> bool:
        before: Bulk | None = None
        while (bulk := await store.advance_bulk()) is not None and bulk != before:
            before = bulk
        return bulk is not None


class Discards(Chore):
    """Deletes the artifacts of cancelled jobs that their own runner did not live to delete."""

    async def visit(self, store: AsyncStore) -> bool:
        discards = await store.discards()
        for discard in discards:
            await self._discard(store, discard)
        return bool(discards)

    async def _discard(self, store: AsyncStore, discard: Discard) -> None:
        from tenure.runtime.artifacts import Artifacts, artifacts_url

        where = artifacts_url(self._keeper.settings)
        last = discard.tries >= LOOKS

        def delete() -> tuple[Artifacts, Sequence[str]]:
            kept = Artifacts(where, store.tenant, discard.job_id)
            return kept, kept.discard(discard.urls, last=last)

        try:
            kept, gone = await asyncio.to_thread(delete)
        except Exception as problem:  # noqa: BLE001 - of any store
            _log.warning("artifacts of job %d are not deleted: %r", discard.job_id, problem)
            await store.discarded(discard.job_id, (), error=repr(problem))
        else:
            await store.discarded(discard.job_id, gone)
            await asyncio.to_thread(kept.forget)


def chores(keeper: "Keeper") -> Iterator[tuple[str, timedelta, Callable[[], Awaitable[object]]]]:
    """What nobody waits for: a name, how often, and what."""
    often = keeper.settings.policies_every
    yield "rollups", ROLL_UP_EVERY, Rollups(keeper).run_once
    yield "policies", often, Policies(keeper).run_once
    yield "bulks", often, Bulks(keeper).run_once
    yield "discards", often, Discards(keeper).run_once
