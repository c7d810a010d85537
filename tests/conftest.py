"""One PostgreSQL for the whole run, and a fresh database for every test that asks for one.

TENURE_TEST_BINARIES=system runs everything on the system's PostgreSQL instead of the wheel's.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from tenure.domain.tenant import DEFAULT
from tenure.store import schema
from tenure.store.embedded import Embedded
from tenure.store.embedded.binaries import Binaries, all_binaries
from tenure.store.store import Store
from tenure.testing import Clock

_numbers = count(1)

Connect = Callable[[], psycopg.Connection]


def chosen_binaries() -> Binaries | None:
    if os.environ.get("TENURE_TEST_BINARIES") != "system":
        return None
    return next(found for found in all_binaries() if "site-packages" not in found.folder.parts)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a PostgreSQL of this run."""
    with (
        tempfile.TemporaryDirectory(prefix="tenure-test-") as folder,
        Embedded.open(Path(folder) / "pg", chosen_binaries()) as embedded,
    ):
        with psycopg.connect(embedded.url, autocommit=True) as connection:
            # Crashes of the server have tests and servers of their own.
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("ALTER SYSTEM SET autovacuum_naptime = '1h'")
            connection.execute("SELECT pg_reload_conf()")
        yield embedded.url


def with_database(url: str, database: str) -> str:
    return url.replace("/tenure?", f"/{database}?")


@pytest.fixture(scope="session")
def template(server: str) -> str:
    """The name of a database with the schema in it."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE template_tenure")
    with psycopg.connect(with_database(server, "template_tenure"), autocommit=True) as connection:
        schema.migrate(connection, DEFAULT)
    return "template_tenure"


@pytest.fixture
def empty_database(server: str) -> Iterator[str]:
    """The URL of a database with nothing in it."""
    yield from _database(server, "template1")


@pytest.fixture
def database(server: str, template: str) -> Iterator[str]:
    """The URL of a database with the schema and no jobs."""
    yield from _database(server, template)


def _database(server: str, template: str) -> Iterator[str]:
    name = f"test_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
        yield with_database(server, name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    with Store(database) as store:
        yield store


@pytest.fixture
def connect(database: str) -> Iterator[Connect]:
    """Open further connections, not in autocommit: for races with a forced order."""
    opened: list[psycopg.Connection] = []

    def open_one() -> psycopg.Connection:
        connection = psycopg.connect(database)
        opened.append(connection)
        return connection

    yield open_one
    for connection in opened:
        connection.close()


@pytest.fixture
def sql(database: str) -> Iterator[psycopg.Connection]:
    """A connection of the owner, in autocommit: to age rows and to look into tables."""
    with psycopg.connect(database, autocommit=True) as connection:
        yield connection


@pytest.fixture
def clock(sql: psycopg.Connection) -> Clock:
    return Clock(sql)
