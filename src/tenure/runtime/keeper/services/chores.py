"""Maintenance for tenants, besides running their jobs. Any worker does it, and nobody waits."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass
from datetime import timedelta
from typing import ClassVar

from tenure.config import Settings
from tenure.domain.lifecycle import State
from tenure.errors import NotAllowed
from tenure.runtime.keeper.database.activity import ActivityCounter, RoundRobin
from tenure.runtime.keeper.services.recovery import visit_each
from tenure.store.policy_results import Bulk, PendingDiscard
from tenure.store.store import AsyncStore

_log = logging.getLogger("tenure.worker")

PRUNE_EVERY = timedelta(minutes=10)
ROLL_UP_EVERY = timedelta(minutes=1)
TRIES = 8  # to find the artifacts of a job, before what no worker found counts as gone


@dataclass(eq=False)
class Rounds:
    """Visits tenants in which something has happened since the last time, and others in turn."""

    settings: Settings
    served: Collection[str]
    activity: ActivityCounter
    store: Callable[[str], AsyncStore]

    def __post_init__(self) -> None:
        self._turns = RoundRobin(self.served)
        self._done: dict[str, int] = {}  # by tenant: how often it had moved by then

    async def run_once(self) -> None:
        moves = self.activity.moves
        moved = [name for name, times in moves.items() if self._done.get(name) != times]
        await visit_each({*moved, *self._turns.next(self.others)}, self.served, self._visit)

    async def _visit(self, tenant: str) -> None:
        times = self.activity.moves.get(tenant, 0)
        again = await self.visit(self.store(tenant))
        self._done[tenant] = -1 if again else times

    @property
    def others(self) -> int:
        """The number of tenants it visits in any case."""
        return 1

    async def visit(self, store: AsyncStore) -> bool:
        """Return whether to come again even if nothing happens."""
        raise NotImplementedError


class Pruning(Rounds):
    """Deletes what has been kept long enough; each tenant is visited within the hour."""

    _warned = False

    async def visit(self, store: AsyncStore) -> bool:
        settings = self.settings
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
        settings = self.settings
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
        return -(-len(self.served) // 6)


class Rollups(Rounds):
    """Counts what ended, for the history; one worker of the fleet does."""

    async def visit(self, store: AsyncStore) -> bool:
        more = True
        while more:
            counted = await store.roll_up(every=ROLL_UP_EVERY / 2)
            more = counted.more
        moved_at = self.activity.moved_at.get(store.tenant.name)
        return moved_at is not None and (counted.until is None or counted.until < moved_at)


class OpenTenants(set[str]):
    """The tenants in which a chore is open, and an event for who waits for the next one."""

    def __init__(self) -> None:
        super().__init__()
        self.added = asyncio.Event()

    def add(self, tenant: str) -> None:
        super().add(tenant)
        self.added.set()


@dataclass(eq=False)
class Chore:
    """Visits tenants in which it is open, according to the last promotion of their jobs."""

    name: ClassVar[str]

    settings: Settings
    served: Collection[str]
    open_chores: InitVar[Mapping[str, set[str]]]
    store: Callable[[str], AsyncStore]

    def __post_init__(self, open_chores: Mapping[str, set[str]]) -> None:
        self._open = open_chores[self.name]

    async def run_once(self) -> None:
        await visit_each([*self._open], self.served, self._visit)

    async def _visit(self, tenant: str) -> None:
        if not await self.visit(self.store(tenant)):
            self._open.discard(tenant)

    async def visit(self, store: AsyncStore) -> bool:
        """Return whether to come again without being told."""
        raise NotImplementedError


class Policies(Chore):
    """Enforces policies. Each is checked periodically, by any worker."""

    name = "policies"

    async def visit(self, store: AsyncStore) -> bool:
        # Half of it, because of the jitter: a visit that comes a little early is not skipped.
        every = self.settings.policies_every / 2
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
    """Continues bulk stops."""

    name = "bulks"

    async def visit(self, store: AsyncStore) -> bool:
        before: Bulk | None = None
        while (bulk := await store.advance_bulk()) is not None and bulk != before:
            before = bulk
        return bulk is not None


class Discards(Chore):
    """Deletes the artifacts of pruned jobs, and those that a killed runner could not delete."""

    name = "discards"

    async def visit(self, store: AsyncStore) -> bool:
        discards = await store.discards()
        for discard in discards:
            await self._discard(store, discard)
        return bool(discards)

    async def _discard(self, store: AsyncStore, discard: PendingDiscard) -> None:
        from tenure.runtime.artifacts import Artifacts

        where = self.settings.artifacts_url
        last = discard.tries >= TRIES

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


def maintenance(
    settings: Settings,
    served: Collection[str],
    activity: ActivityCounter,
    open_chores: Mapping[str, set[str]],
    store: Callable[[str], AsyncStore],
) -> Iterator[tuple[str, timedelta, Callable[[], Awaitable[object]]]]:
    """Yield the name of each service, its interval, and its function."""
    yield "pruning", PRUNE_EVERY, Pruning(settings, served, activity, store).run_once
    yield "rollups", ROLL_UP_EVERY, Rollups(settings, served, activity, store).run_once
    for kind in (Policies, Bulks, Discards):
        chore = kind(settings, served, open_chores, store)
        yield chore.name, settings.policies_every, chore.run_once
