"""Signals that a worker reads between two beats, however many there are, delay no beat."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tenure.config import Settings
from tenure.errors import LeaseLost
from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.keeper.database.clock import DatabaseClock
from tenure.runtime.keeper.database.lease import Lease
from tenure.runtime.keeper.database.lease_renewal import LeaseRenewal
from tenure.runtime.keeper.runs.run_times import MeasuredTimes
from tenure.store.results import Holding, SignalsRead
from tenure.store.serial_connection import SerialConnection
from tenure.store.store import Store
from tests.factories import make_job, make_worker


class Keeper:
    """The worker, as far as the renewal of its lease needs it."""

    def __init__(self, url: str, worker: UUID, **changes: Any) -> None:
        self.settings = Settings(**changes)
        self.trouble = None
        self.measured = MeasuredTimes()
        self.signals: list[int] = []
        self.drained = asyncio.Event()
        self.line = SerialConnection(url, self.settings)
        guard: Any = SimpleNamespace(is_frozen=False, trust_until=lambda _: None)
        self.lease = Lease(guard, self.settings)
        self.lease.trust_from(boottime())
        self.renewal = LeaseRenewal(
            worker, self, self.lease, self.line, DatabaseClock(), self.settings, lambda _: None
        )

    def describe_runners(self) -> dict[str, Any]:
        return {}

    def holdings(self) -> list[Holding]:
        return []

    def receive_signals(self, answer: SignalsRead) -> None:
        self.signals += [signal.job_id for signal in answer.signals]
        if answer.draining:
            self.drained.set()

    async def thaw(self, lost: Sequence[Holding]) -> None: ...

    def check_guard(self) -> None: ...

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
                serving = tasks.create_task(self.renewal.serve())
                yield
                serving.cancel()
        finally:
            await self.line.close()


def beat_at(sql: psycopg.Connection, worker: UUID) -> object:
    row = sql.execute("SELECT beat_at FROM tenure.worker WHERE id = %s", (worker,)).fetchone()
    assert row is not None
    return row[0]


async def moved(sql: psycopg.Connection, worker: UUID, before: object) -> object:
    while (now := beat_at(sql, worker)) == before:  # noqa: ASYNC110 - another process moves it
        await asyncio.sleep(0.01)
    return now


def test_signals_are_read_between_two_beats(
    store: Store, database: str, sql: psycopg.Connection
) -> None:
    job, worker = make_job(store), make_worker(store)
    worker.claim_one()
    before = beat_at(sql, worker.id)

    async def main() -> None:
        keeper = Keeper(database, worker.id, lease="1m", beat="20s")
        async with keeper.at_work():
            beat = await moved(sql, worker.id, before)
            store.stop(job)
            store.drain(worker.id)
            keeper.lease.read_signals_now()
            await keeper.drained.wait()
            assert keeper.signals == [job]
            assert beat_at(sql, worker.id) == beat, "nothing was renewed for it"
            keeper.lease.check_now()
            await moved(sql, worker.id, beat)

    asyncio.run(main())


def test_a_constant_stream_of_signals_does_not_delay_the_renewal_of_the_lease(
    store: Store, database: str, sql: psycopg.Connection
) -> None:
    worker = make_worker(store)

    async def main() -> None:
        keeper = Keeper(database, worker.id, lease="1m", beat="200ms")
        async with keeper.at_work():
            told = asyncio.create_task(tell_all_the_time(keeper.lease))
            beat = beat_at(sql, worker.id)
            for _ in range(4):
                beat = await moved(sql, worker.id, beat)
            told.cancel()

    async def tell_all_the_time(lease: Lease) -> None:
        while True:
            lease.read_signals_now()
            await asyncio.sleep(0)

    asyncio.run(main())


def test_a_worker_learns_between_two_beats_that_it_was_declared_dead(
    store: Store, database: str, sql: psycopg.Connection
) -> None:
    worker = make_worker(store)
    before = beat_at(sql, worker.id)

    async def main() -> None:
        keeper = Keeper(database, worker.id, lease="1m", beat="20s")
        async with keeper.at_work():
            await moved(sql, worker.id, before)
            store.leave(worker.id)
            keeper.lease.read_signals_now()
            await asyncio.sleep(20)

    with pytest.raises(ExceptionGroup) as ended:
        asyncio.run(main())
    assert ended.group_contains(LeaseLost)
