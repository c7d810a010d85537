"""What is to be done for tenants beside running their jobs. Any worker does it, nobody waits."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from tenure.domain.lifecycle import State
from tenure.errors import NotAllowed
from tenure.runtime.keeper.services import visit_each
from tenure.runtime.keeper.stirs import Turns
from tenure.store.policy_results import Bulk, PendingDiscard
from tenure.store.store import AsyncStore

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

_log = logging.getLogger("tenure.worker")

PRUNE_EVERY = timedelta(minutes=10)
ROLL_UP_EVERY = timedelta(minutes=1)
LOOKS = 8  # by workers for the artifacts of a job, before what nobody found counts as gone


class Round:
    """Visits tenants in which something has happened since the last time, and others in turn."""

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


class Pruning(Round):
    """Deletes what has been kept long enough, in every tenant within the hour."""

    _warned = False

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
        if settings.keep_records is not None or settings.keep_audit is not None:
            await self._prune_records(store)
        return False

    async def _prune_records(self, store: AsyncStore) -> None:
        settings = self._keeper.settings
        try:
            await store.prune_records(
                keep_records=settings.keep_records, keep_audit=settings.keep_audit
            )
        except NotAllowed:
            if not self._warned:
                _log.warning(
                    "keep_records and keep_audit have no effect: only the owner of the schema may "
                    "delete records, and this worker connects as another database role"
                )
            self._warned = True

    @property
    def others(self) -> int:
        return -(-len(self._keeper.exchanges) // 6)


class Rollups(Round):
    """Counts what ended, for the history; a fleet counts once."""

    async def visit(self, store: AsyncStore) -> bool:
        more = True
        while more:
            counted = await store.roll_up(every=ROLL_UP_EVERY / 2)
            more = counted.more
        moved_at = self._keeper.stirs.moved_at.get(store.tenant.name)
        return moved_at is not None and (counted.until is None or counted.until < moved_at)


class Chore:
    """Visits tenants in which it is open, as the last look at their jobs said ("promote")."""

    name: ClassVar[str]

    def __init__(self, keeper: "Keeper") -> None:
        self._keeper = keeper

    async def run_once(self) -> None:
        await visit_each(self._keeper, [*self._keeper.chores[self.name]], self._visit)

    async def _visit(self, tenant: str) -> None:
        if not await self.visit(self._keeper.store(tenant)):
            self._keeper.chores[self.name].discard(tenant)

    async def visit(self, store: AsyncStore) -> bool:
        """Whether to come again without being told."""
        raise NotImplementedError


class Policies(Chore):
    """Stops what policies reach. Each is looked at once in a while, by whichever worker comes."""

    name = "policies"

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


class Bulks(Chore):
    """Carries on bulk stops that somebody began."""

    name = "bulks"

    async def visit(self, store: AsyncStore) -> bool:
        before: Bulk | None = None
        while (bulk := await store.advance_bulk()) is not None and bulk != before:
            before = bulk
        return bulk is not None


class Discards(Chore):
    """Deletes the artifacts of cancelled jobs that their own runner did not live to delete."""

    name = "discards"

    async def visit(self, store: AsyncStore) -> bool:
        discards = await store.discards()
        for discard in discards:
            await self._discard(store, discard)
        return bool(discards)

    async def _discard(self, store: AsyncStore, discard: PendingDiscard) -> None:
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


def rounds(keeper: "Keeper") -> Iterator[tuple[str, timedelta, Callable[[], Awaitable[object]]]]:
    """A name, how often, and what."""
    yield "pruning", PRUNE_EVERY, Pruning(keeper).run_once
    yield "rollups", ROLL_UP_EVERY, Rollups(keeper).run_once
    for chore in (Policies(keeper), Bulks(keeper), Discards(keeper)):
        yield chore.name, keeper.settings.policies_every, chore.run_once
