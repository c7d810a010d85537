"""Every reason why a database cannot be reached is named at once, and no password is shown."""

import asyncio
import logging
import traceback
from collections.abc import Callable, Iterator

import psycopg
import pytest

from tenure.config import Settings
from tenure.control.client import Client
from tenure.domain.tenant import DEFAULT
from tenure.errors import SchemaMismatch, StoreUnavailable
from tenure.store.calls import queries
from tenure.store.connection import parse_url
from tenure.store.migrating import Migrator
from tenure.store.serial_connection import SerialConnection
from tenure.store.store import AsyncStore, Store
from tests.unreachable import CAUSES, MAY_PASS, refusing

# A caller that waited for it would not return before the timeout of the test.
PATIENT = Settings(connect_timeout="10m")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def urls(server: str) -> Iterator[dict[str, str]]:
    with refusing(server) as urls:
        yield urls


def by_store(url: str) -> object:
    with Store(url, settings=PATIENT) as store:
        return store.statistics()


def by_async_store(url: str) -> object:
    async def ask() -> object:
        async with AsyncStore(url, settings=PATIENT) as store:
            return await store.statistics()

    return asyncio.run(ask())


def by_line(url: str) -> object:
    async def ask() -> object:
        line = SerialConnection(url, PATIENT)
        try:
            return await line.send(queries.statistics())
        finally:
            await line.close()

    return asyncio.run(ask())


def by_client(url: str) -> object:
    with Client(url, settings=PATIENT) as client:
        return client.store.statistics()


def by_migrator(url: str) -> object:
    return Migrator(url).pending(DEFAULT)


ENTRIES = (by_store, by_async_store, by_line, by_client, by_migrator)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.__name__)
@pytest.mark.parametrize("cause", CAUSES)
def test_a_refused_connection_is_told_at_once_with_its_cause(
    urls: dict[str, str],
    cause: str,
    entry: Callable[[str], object],
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(StoreUnavailable) as refused:
        entry(urls[cause])
    sentence = str(refused.value)
    assert sentence.startswith("the database cannot be reached: ")
    assert CAUSES[cause] in sentence
    assert "\n" not in sentence
    assert refused.value.may_pass is (cause in MAY_PASS)
    shown = "".join(traceback.format_exception(refused.value)) + caplog.text
    assert "-4711" not in shown  # the end of every password in these URLs
    assert "psycopg.pool" not in shown


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:Geheim 4711@host/db",
        "postgresql://ada:Geheim@4711@host/db",
        "postgresql://ada:Geheim/4711@host/db",
        "postgresql://ada:12/Geheim@host/db",
        "postgresql://ada:4711/Geheim?4711@host/db",
        "postgresql://ada:Geheim#4711@[::1/db",
        "postgresql//ada:Geheim4711@host/db",
        "mysql://ada:Geheim4711@host/db",
        "password=Geheim nonsense",
        "host=127.0.0.1 port=Geheim",
        "Geheim\ud800",
    ],
)
def test_nothing_of_a_malformed_url_is_shown(url: str) -> None:
    with pytest.raises(StoreUnavailable) as refused:
        by_store(url)
    chain: list[BaseException] = [refused.value]
    while inner := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(inner)
    for error in chain:
        assert "Geheim" not in f"{error!r} {error}"
        assert "4711" not in f"{error!r} {error}"
    assert "postgresql://USER:PASSWORD@HOST:PORT/DATABASE" in str(refused.value)
    assert not refused.value.may_pass


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:Geheim%404711@host,other:5432,5433/db",
        "postgresql:///db?host=/run/a@b",
        "host=/run/a dbname=db port=5433",
        "postgresql://",
        "",
    ],
)
def test_a_url_that_can_be_read_is_not_refused(url: str) -> None:
    parse_url(url)


def test_a_server_that_restarts_is_waited_for_by_whoever_was_connected(
    urls: dict[str, str], database: str, monkeypatch: pytest.MonkeyPatch, sql: psycopg.Connection
) -> None:
    with Store(f"{database}&application_name=waiting", settings=PATIENT) as store:
        store.statistics()
        shared = store._pool
        sql.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'waiting'"
        )
        right, shared._url = shared._url, urls["nothing listens"]
        pauses: list[float] = []

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 3:
                shared._url = right

        monkeypatch.setattr("tenure.store.connection_pool.time.sleep", sleep)
        assert store.statistics().total == 0
        assert len(pauses) == 3


def test_a_wrong_password_is_told_at_once_to_whoever_was_connected(
    urls: dict[str, str], database: str, sql: psycopg.Connection
) -> None:
    with Store(f"{database}&application_name=waiting", settings=PATIENT) as store:
        store.statistics()
        store._pool._url = urls["wrong password"]
        sql.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'waiting'"
        )
        with pytest.raises(StoreUnavailable, match="is wrong"):
            store.statistics()


@pytest.mark.fresh_database
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.__name__)
@pytest.mark.parametrize("scope", ["", "default"])
def test_a_database_that_is_newer_than_the_program_is_refused(
    database: str, sql: psycopg.Connection, scope: str, entry: Callable[[str], object]
) -> None:
    sql.execute("INSERT INTO tenure.migration VALUES (%s, 9999, 'from the future')", (scope,))
    if entry is by_line:
        return  # a worker has been refused by the store before it opens one
    with pytest.raises(SchemaMismatch, match=r"migration 9999 .*upgrade Tenure"):
        entry(database)


@pytest.mark.parametrize("entry", ENTRIES[:-1], ids=lambda entry: entry.__name__)
def test_a_database_without_the_schema_is_told_to_migrate(
    empty_database: str, entry: Callable[[str], object]
) -> None:
    with pytest.raises(SchemaMismatch, match=r"run: tenure migrate$"):
        entry(empty_database)
