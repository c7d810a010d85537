"""The connections of a store: tenants share them, and none of them gets all."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta

import psycopg
import pytest

from tenure.app import Tenure
from tenure.config import Settings
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import SchemaMismatch, StoreUnavailable
from tenure.store import connection_pool, schema
from tenure.store.store import AsyncStore, Store
from tenure.store.transport import prepare_if_direct
from tests.conftest import Connect
from tests.factories import make_job, make_job_in
from tests.waiting import soon
from tests.workers import eventually

ACME = Tenant("acme")
TENANTS = [Tenant(f"t{number}") for number in range(4)]
IMPATIENT = Settings(connect_timeout=timedelta(seconds=1))
CROWDED = "tenant 'acme' has 8 calls under way, and none ended in 1 s"


def named(url: str, name: str) -> str:
    return f"{url}&application_name={name}"


def backends(sql: psycopg.Connection, name: str) -> set[int]:
    rows = sql.execute("SELECT pid FROM pg_stat_activity WHERE application_name = %s", (name,))
    return {pid for (pid,) in rows}


def test_many_threads_share_eight_connections(database: str, sql: psycopg.Connection) -> None:
    with Store(named(database, "crowd")) as store, ThreadPoolExecutor(32) as threads:
        made = list(threads.map(lambda _: make_job(store), range(200)))
        assert len(set(made)) == 200
        assert 1 <= len(backends(sql, "crowd")) <= 8
    eventually(lambda: not backends(sql, "crowd"))


def test_many_tasks_share_eight_connections(database: str, sql: psycopg.Connection) -> None:
    async def crowd() -> int:
        async with AsyncStore(named(database, "tasks")) as store:
            await asyncio.gather(*(store.enqueue(NewJob(task="work")) for _ in range(200)))
            return len(backends(sql, "tasks"))

    assert 1 <= asyncio.run(crowd()) <= 8
    eventually(lambda: not backends(sql, "tasks"))


def test_a_store_that_nobody_asks_has_no_connection(database: str, sql: psycopg.Connection) -> None:
    with Store(named(database, "quiet")):
        assert not backends(sql, "quiet")


@pytest.fixture
def four_tenants(sql: psycopg.Connection) -> None:
    for tenant in TENANTS:
        schema.migrate(sql, tenant)


@pytest.mark.usefixtures("four_tenants")
def test_a_backend_that_has_got_to_know_many_tenants_is_given_up(
    database: str, sql: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pool, "MAX_TENANTS", 3)
    with Store(named(database, "curious")) as store:
        for tenant in TENANTS[:3]:
            make_job(store.of(tenant))
        [first] = backends(sql, "curious")
        make_job(store.of(TENANTS[3]))
        assert [store.of(tenant).statistics().total for tenant in TENANTS] == [1, 1, 1, 1]
        eventually(lambda: first not in backends(sql, "curious"))


@pytest.mark.usefixtures("four_tenants")
def test_an_async_backend_that_has_got_to_know_many_tenants_is_given_up(
    database: str, sql: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pool, "MAX_TENANTS", 3)

    async def visit() -> None:
        async with AsyncStore(named(database, "curious")) as store:
            for tenant in TENANTS[:3]:
                assert (await store.of(tenant).statistics()).total == 0
            [first] = backends(sql, "curious")
            assert (await store.of(TENANTS[3]).statistics()).total == 0
            await soon(lambda: first not in backends(sql, "curious"))

    asyncio.run(visit())


def test_many_backends_that_know_enough_hold_up_nobody(
    database: str, sql: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pool, "MAX_TENANTS", 0)
    with Store(named(database, "curious"), settings=IMPATIENT) as store:
        with ExitStack() as at_once:
            for _ in range(6):
                at_once.enter_context(store._pool.connection(store.tenant))
            first = backends(sql, "curious")
        assert len(first) == 6
        assert store.statistics().total == 0
        eventually(lambda: not first & backends(sql, "curious"))


def test_a_store_of_a_client_that_somebody_closed_is_opened_again(
    database: str, sql: psycopg.Connection
) -> None:
    schema.migrate(sql, ACME)

    async def again(app: Tenure) -> int:
        async with app, await app.astore_of("acme") as acme:
            await acme.statistics()
            await acme.close()
            return (await (await app.astore_of()).statistics()).total

    with Tenure(database) as app:
        with app.store_of("acme") as acme:
            make_job(acme)
        assert app.store.statistics().total == 0
        assert app.store_of("acme").statistics().total == 1
        assert asyncio.run(again(app)) == 0


def test_a_place_goes_to_who_has_waited_for_it() -> None:
    slots = connection_pool._Slots(1)
    assert slots.acquire(0)
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(slots.acquire, 20)
        eventually(lambda: len(slots._waiting) == 1)
        slots.release()
        assert not slots.acquire(0), "who comes later does not overtake"
        assert waiting.result(20)
    slots.release()
    assert slots.acquire(0)


def test_a_slot_is_not_lost_with_who_was_interrupted_waiting_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Interrupted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            if timeout == 2:
                slots.release()  # and it is handed over in that moment
            raise KeyboardInterrupt

    slots = connection_pool._Slots(1)
    assert slots.acquire(0)
    monkeypatch.setattr(connection_pool, "Event", Interrupted)
    for moment in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            slots.acquire(moment)
    assert slots.acquire(0)
    assert not slots._waiting


def test_tenants_of_a_client_share_its_connections(database: str, sql: psycopg.Connection) -> None:
    schema.migrate(sql, ACME)
    with Tenure(named(database, "client")) as app:
        for tenant in ("acme", "default", "acme"):
            app.store_of(tenant).statistics()
        assert len(backends(sql, "client")) == 1


def test_tenants_of_an_event_loop_share_its_connections(
    database: str, sql: psycopg.Connection
) -> None:
    schema.migrate(sql, ACME)

    async def talk() -> int:
        async with Tenure(named(database, "client")) as app:
            for tenant in ("acme", "default", "acme"):
                await (await app.astore_of(tenant)).statistics()
            return len(backends(sql, "client"))

    assert asyncio.run(talk()) == 1


def test_a_tenant_that_waits_with_all_its_calls_holds_up_itself_alone(
    database: str, connect: Connect, sql: psycopg.Connection
) -> None:
    schema.migrate(sql, ACME)
    crowd = named(database, "crowd")
    with Store(crowd, ACME, IMPATIENT) as acme, ThreadPoolExecutor(8) as threads:
        job, other = make_job_in(acme, State.PAUSED), connect()
        other.execute("SELECT FROM tenure_acme.job WHERE id = %s FOR UPDATE", (job,))
        calls = [threads.submit(acme.resume, job) for _ in range(8)]
        eventually(lambda: len(backends(sql, "crowd")) == 8)
        assert acme.of(DEFAULT).statistics().total == 0
        with pytest.raises(StoreUnavailable) as crowded:
            acme.statistics()
        assert str(crowded.value) == CROWDED
        other.rollback()
        assert [call.exception(20) is None for call in calls].count(True) == 1
        assert acme.statistics().total == 1


def test_an_async_tenant_that_waits_with_all_its_calls_holds_up_itself_alone(
    database: str, connect: Connect, sql: psycopg.Connection
) -> None:
    schema.migrate(sql, ACME)

    async def talk() -> None:
        async with AsyncStore(named(database, "crowd"), ACME, IMPATIENT) as acme:
            job, other = await asyncio.to_thread(paused), connect()
            other.execute("SELECT FROM tenure_acme.job WHERE id = %s FOR UPDATE", (job,))
            calls = [asyncio.ensure_future(acme.resume(job)) for _ in range(8)]
            await soon(lambda: len(backends(sql, "crowd")) == 8)
            assert (await acme.of(DEFAULT).statistics()).total == 0
            with pytest.raises(StoreUnavailable) as crowded:
                await acme.statistics()
            assert str(crowded.value) == CROWDED
            other.rollback()
            await asyncio.wait(calls)
            assert [call.exception() is None for call in calls].count(True) == 1
            assert (await acme.statistics()).total == 1

    def paused() -> int:
        with Store(database, ACME) as store:
            return make_job_in(store, State.PAUSED)

    asyncio.run(talk())


def test_a_store_that_nobody_closed_leaves_no_connection_and_no_warning(
    database: str, sql: psycopg.Connection
) -> None:
    store = Store(named(database, "forgotten"))
    store.statistics()
    assert backends(sql, "forgotten")
    del store
    eventually(lambda: not backends(sql, "forgotten"))


def test_connections_are_not_kept_for_ever(
    database: str, sql: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(named(database, "old")) as store:
        store.statistics()
        [first] = backends(sql, "old")
        monkeypatch.setattr(connection_pool, "_MAX_AGE", 0)
        store.statistics()
        eventually(lambda: first not in backends(sql, "old"))
        monkeypatch.setattr(connection_pool, "_MAX_AGE", 3600)
        with ExitStack() as at_once:
            for _ in range(3):
                at_once.enter_context(store._pool.connection(store.tenant))
        assert len(backends(sql, "old")) == 3
        monkeypatch.setattr(connection_pool, "_MAX_IDLE", -1)
        store.statistics()
        eventually(lambda: not backends(sql, "old"))


_PREPARED = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%enqueue%'"


def test_a_statement_that_is_sent_often_is_prepared(database: str) -> None:
    with Store(database) as store:
        for _ in range(7):
            make_job(store)
        with store._pool.connection(DEFAULT) as opened:
            assert opened.connection.execute(_PREPARED).fetchone() == (1,)


def test_a_statement_that_async_code_sends_often_is_prepared(database: str) -> None:
    async def send() -> object:
        async with AsyncStore(database) as store:
            for _ in range(7):
                await store.enqueue(NewJob(task="work"))
            async with store._pool.connection(DEFAULT) as opened:
                return await (await opened.connection.execute(_PREPARED)).fetchone()

    assert asyncio.run(send()) == (1,)


def test_a_prepared_statement_survives_a_new_definition(
    database: str, sql: psycopg.Connection
) -> None:
    with Store(database) as store:
        for _ in range(7):
            make_job(store)
        named = "SELECT pg_get_functiondef('tenure.enqueue'::regproc)"
        [definition] = sql.execute(named).fetchone() or ()
        sql.execute("DROP FUNCTION tenure.enqueue")
        with pytest.raises(SchemaMismatch):
            make_job(store)
        sql.execute(definition)
        assert make_job(store) > 7


def test_a_connection_to_another_backend_prepares_nothing(sql: psycopg.Connection) -> None:
    sql.prepare_threshold = None
    prepare_if_direct(sql, (sql.info.backend_pid + 1,))
    assert sql.prepare_threshold is None
    prepare_if_direct(sql, (sql.info.backend_pid,))
    assert sql.prepare_threshold == 5
