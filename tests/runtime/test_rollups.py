"""A worker counts what ended: all there is, for each of its tenants."""

import asyncio
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from tenure.config import Settings
from tenure.domain.lifecycle import State
from tenure.domain.tenant import Tenant
from tenure.runtime.keeper.services.chores import Rollups
from tenure.store.migrating import Migrator
from tenure.store.store import AsyncStore, Store
from tenure.testing import Clock
from tests.factories import make_job_in

ACME = Tenant("acme")


def test_a_worker_counts_for_each_tenant_until_nothing_is_left(
    store: Store, database: str, clock: Clock
) -> None:
    Migrator(database).migrate(ACME)

    async def count() -> None:
        async with AsyncStore(database) as shared:
            activity: Any = SimpleNamespace(moves={"acme": 1}, moved_at={})
            rollups = Rollups(
                Settings(), ("default", "acme"), activity, lambda name: shared.of(Tenant(name))
            )
            await rollups.run_once()

    with Store(database, ACME) as acme:
        for one in (store, acme):
            make_job_in(one, State.COMPLETED)
        clock.advance(timedelta(seconds=20))
        asyncio.run(count())
        for one in (store, acme):
            history = one.history()
            assert history.counted_until is not None
            assert history.until - history.counted_until < timedelta(minutes=1)
            assert history.total.completed == 1
            assert one.roll_up().jobs == 0
