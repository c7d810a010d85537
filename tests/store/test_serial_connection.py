"""The keeper's line: one connection, in a known state or closed."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import psycopg
import pytest
from psycopg import waiting

from tenure.config import Settings
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, State
from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused, JobNotFound, StoreUnavailable
from tenure.store import schema
from tenure.store.calls import control_calls, enqueue_calls, queries
from tenure.store.dedicated_connection import connect_dedicated
from tenure.store.serial_connection import SerialConnection
from tenure.store.store import Store
from tests.conftest import Connect
from tests.factories import make_job
from tests.waiting import soon

T = TypeVar("T")


def on_a_line(url: str, ask: Callable[[SerialConnection], Awaitable[T]], **options: object) -> T:
    async def run() -> T:
        line = SerialConnection(url, **options)  # type: ignore[arg-type]
        try:
            return await ask(line)
        finally:
            await line.close()

    return asyncio.run(run())


def backends(sql: psycopg.Connection) -> list[int]:
    rows = sql.execute(
        "SELECT pid FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'tenure keeper'"
    )
    return [pid for (pid,) in rows]


def waits_for_a_lock(sql: psycopg.Connection) -> bool:
    row = sql.execute(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'tenure keeper'"
        " AND wait_event_type = 'Lock'"
    ).fetchone()
    return row is not None


def test_a_line_is_opened_by_its_first_call_and_kept(
    database: str, sql: psycopg.Connection
) -> None:
    async def talk(line: SerialConnection) -> None:
        assert backends(sql) == []
        await line.send(enqueue_calls.enqueue(NewJob(task="work")))
        (first,) = backends(sql)
        assert (await line.send(queries.statistics())).total == 1
        assert backends(sql) == [first]

    on_a_line(database, talk)


def test_a_line_prepares_what_it_sends_often(database: str) -> None:
    async def talk(line: SerialConnection) -> str:
        for _ in range(7):
            await line.send(queries.statistics())
        assert line._connection is not None
        prepared = "SELECT statement FROM pg_prepared_statements"
        return str(await (await line._connection.execute(prepared)).fetchall())

    assert "statistics" in on_a_line(database, talk)


def test_a_line_speaks_for_any_tenant(database: str, sql: psycopg.Connection, store: Store) -> None:
    schema.migrate(sql, Tenant("acme"))

    async def talk(line: SerialConnection) -> None:
        await line.send(enqueue_calls.enqueue(NewJob(task="work")), Tenant("acme"))
        assert (await line.send(queries.statistics(), Tenant("acme"))).total == 1
        assert (await line.send(queries.statistics())).total == 0

    on_a_line(database, talk)


def test_an_outage_is_told_and_the_next_call_connects_again(
    database: str, sql: psycopg.Connection
) -> None:
    async def talk(line: SerialConnection) -> None:
        await line.send(queries.statistics())
        sql.execute("SELECT pg_terminate_backend(%s, 5000)", (backends(sql)[0],))
        with pytest.raises(StoreUnavailable):
            await line.send(queries.statistics())
        assert (await line.send(queries.statistics())).total == 0
        assert len(backends(sql)) == 1

    on_a_line(database, talk)


def test_an_outage_in_the_middle_of_an_unsafe_call_says_that_nobody_knows(
    database: str, store: Store, sql: psycopg.Connection, connect: Connect
) -> None:
    job, other = make_job(store), connect()
    store.stop(job, intent=Intent.PAUSE)
    other.execute("SELECT FROM tenure.job FOR UPDATE")

    async def talk(line: SerialConnection) -> None:
        resuming = asyncio.create_task(line.send(control_calls.resume(job)))
        await soon(lambda: waits_for_a_lock(sql))
        sql.execute("SELECT pg_terminate_backend(%s, 5000)", (backends(sql)[0],))
        with pytest.raises(StoreUnavailable, match="its outcome is unknown"):
            await resuming

    on_a_line(database, talk)
    other.rollback()
    assert store.show(job).state is State.PAUSED


def test_a_database_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    async def talk(line: SerialConnection) -> None:
        for _ in range(3):
            with pytest.raises(StoreUnavailable, match="cannot be reached"):
                await line.send(queries.statistics())

    on_a_line(f"postgresql:///none?host={tmp_path}", talk)


@pytest.mark.parametrize("how", ["cancelled", "timed out"])
def test_a_call_that_is_given_up_takes_its_connection_with_it(
    database: str, store: Store, sql: psycopg.Connection, connect: Connect, how: str
) -> None:
    job, other = make_job(store), connect()
    other.execute("SELECT FROM tenure.job FOR UPDATE")

    async def talk(line: SerialConnection) -> None:
        await line.send(queries.statistics())
        (first,) = backends(sql)
        stopping = asyncio.create_task(line.send(control_calls.stop(job)))
        await soon(lambda: waits_for_a_lock(sql))
        asked = time.monotonic()
        if how == "cancelled":
            stopping.cancel()
            with pytest.raises(asyncio.CancelledError):
                await stopping
        else:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(stopping, 0.05)
        assert time.monotonic() - asked < 2, "it asked a server that does not answer"
        assert (await line.send(queries.statistics())).total == 1, "an answer of the old call"
        assert first not in backends(sql) or len(backends(sql)) == 2
        other.rollback()
        await soon(lambda: first not in backends(sql))

    on_a_line(database, talk)


def test_a_call_that_waits_for_its_turn_can_be_given_up_without_harm(
    database: str, store: Store, sql: psycopg.Connection, connect: Connect
) -> None:
    job, other = make_job(store), connect()
    other.execute("SELECT FROM tenure.job FOR UPDATE")

    async def talk(line: SerialConnection) -> None:
        stopping = asyncio.create_task(line.send(control_calls.stop(job)))
        await soon(lambda: waits_for_a_lock(sql))
        second = asyncio.create_task(line.send(queries.statistics()))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        other.rollback()
        assert (await stopping).job_id == job

    on_a_line(database, talk)


def test_hanging_up_ends_the_call_that_is_under_way(
    database: str, store: Store, sql: psycopg.Connection, connect: Connect
) -> None:
    job, other = make_job(store), connect()
    other.execute("SELECT FROM tenure.job FOR UPDATE")

    async def talk(line: SerialConnection) -> None:
        stopping = asyncio.create_task(line.send(control_calls.stop(job)))
        await soon(lambda: waits_for_a_lock(sql))
        await asyncio.wait_for(line.close(), 5)
        with pytest.raises(StoreUnavailable):
            await stopping

    on_a_line(database, talk)


def test_contention_is_tried_again(
    database: str, store: Store, sql: psycopg.Connection, connect: Connect
) -> None:
    job, other = make_job(store), connect()
    other.execute("SELECT FROM tenure.job FOR UPDATE")

    async def talk(line: SerialConnection) -> None:
        stopping = asyncio.create_task(line.send(control_calls.stop(job)))
        await soon(lambda: waits_for_a_lock(sql))
        await soon(lambda: not waits_for_a_lock(sql))
        other.rollback()
        assert (await stopping).job_id == job

    on_a_line(f"{database}&options=-c%20lock_timeout%3D100ms", talk)


def test_a_refusal_leaves_the_line_open(database: str, sql: psycopg.Connection) -> None:
    async def talk(line: SerialConnection) -> None:
        with pytest.raises(JobNotFound):
            await line.send(queries.show(4711))
        with pytest.raises(InputRefused, match="UTF-8"):
            await line.send(control_calls.stop(1, reason="\ud800"))
        assert len(backends(sql)) == 1

    on_a_line(database, talk)


def test_a_server_that_only_reads_is_left(
    database: str, sql: psycopg.Connection, store: Store
) -> None:
    async def talk(line: SerialConnection) -> None:
        await line.send(queries.statistics())
        with pytest.raises(StoreUnavailable, match="read-only"):
            await line.send(enqueue_calls.enqueue(NewJob(task="work")))
        await soon(lambda: backends(sql) == [])

    on_a_line(f"{database}&options=-c%20default_transaction_read_only%3Don", talk)


def test_a_peer_that_is_gone_is_noticed_within_a_lease_unless_the_url_says_otherwise(
    database: str,
) -> None:
    async def parameters(url: str) -> dict[str, str]:
        connection = await connect_dedicated(
            url, Settings(lease=timedelta(seconds=30)), "tenure keeper"
        )
        try:
            return connection.info.get_parameters()
        finally:
            await connection.close()

    ours = asyncio.run(parameters(database))
    assert ours["tcp_user_timeout"] == "10000"
    assert int(ours["keepalives_idle"]) + 3 * int(ours["keepalives_interval"]) <= 12
    theirs = asyncio.run(parameters(f"{database}&keepalives_idle=77&application_name=mine"))
    assert (theirs["keepalives_idle"], theirs["application_name"]) == ("77", "mine")


@pytest.mark.parametrize("waits", ["wait_async", "wait_conn_async"])
def test_a_cancel_that_the_driver_loses_is_raised_all_the_same(
    database: str, monkeypatch: pytest.MonkeyPatch, waits: str
) -> None:
    """Old ones lose one that comes together with an answer; a worker that drains would hang."""
    wait = getattr(waiting, waits)

    async def loses_cancels(*args: Any, **options: Any) -> Any:
        answer = await wait(*args, **options)
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        return answer

    monkeypatch.setattr(waiting, waits, loses_cancels)
    with pytest.raises(asyncio.CancelledError):
        on_a_line(database, lambda line: line.send(queries.statistics()))
