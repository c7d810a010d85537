"""A worker deletes records and audit rows after keep_records and keep_audit."""

import asyncio
import logging
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from tenure.config import Settings
from tenure.errors import NotFound
from tenure.runtime.keeper.chores import rounds
from tenure.store.store import AsyncStore, Store
from tenure.testing import Clock
from tests.factories import make_job
from tests.store.roles import Roles

DAY = timedelta(days=1)


@pytest.fixture
def roles(store: Store, sql: psycopg.Connection, database: str) -> Iterator[Roles]:
    made = Roles(store, sql, database)
    yield made
    made.drop()


def prune(url: str, settings: Settings, times: int = 1) -> None:
    async def run() -> None:
        async with AsyncStore(url) as store:
            keeper: Any = SimpleNamespace(
                exchanges={"default": None},
                stirs=SimpleNamespace(moves={"default": 1}, moved_at={}),
                store=lambda _: store,
                settings=settings,
            )
            [run_once] = [run_once for name, _, run_once in rounds(keeper) if name == "pruning"]
            for _ in range(times):
                keeper.stirs.moves["default"] += 1
                await run_once()

    asyncio.run(run())


def test_a_worker_deletes_records_and_audit_rows_that_are_old_enough(
    store: Store, database: str, clock: Clock
) -> None:
    record = store.stop(make_job(store))
    clock.advance(DAY * 40)
    prune(database, Settings())
    assert store.cancellation(record.cancellation_id)
    assert len(store.audit_log()) == 1
    prune(database, Settings(keep_records=DAY * 60, keep_audit=DAY * 30))
    assert store.cancellation(record.cancellation_id)
    assert not store.audit_log()
    prune(database, Settings(keep_records=DAY * 30))
    with pytest.raises(NotFound):
        store.cancellation(record.cancellation_id)


def test_a_worker_that_is_not_the_owner_deletes_no_record_and_warns_once(
    store: Store, roles: Roles, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    record = store.stop(make_job(store))
    name, _ = roles.make("worker")
    clock.advance(DAY * 40)
    with caplog.at_level(logging.WARNING, "tenure.worker"):
        prune(roles.url(name), Settings(keep_records=DAY, keep_audit=DAY), times=2)
    assert store.cancellation(record.cancellation_id)
    (warning,) = caplog.records
    assert warning.getMessage().startswith("keep_records and keep_audit have no effect")
