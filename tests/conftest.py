"""One PostgreSQL for the whole run, and a fresh database for every test that asks for one.

TENURE_TEST_BINARIES=system runs everything on the system's PostgreSQL instead of the wheel's.
"""

import os
import signal
import tempfile
import time
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


_SLOW = ("tests/examples/", "tests/hostile/", "tests/system/", "tests/web/dashboard/")


def pytest_configure() -> None:
    """Let programs that tests start obey Ctrl-C, also when the tests run in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """First what takes long, so that in the end nobody waits for one file alone."""
    items.sort(key=lambda item: not item.nodeid.startswith(_SLOW))


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
def empty(empty_database: str) -> Iterator[psycopg.Connection]:
    """A connection to a database with nothing in it."""
    with psycopg.connect(empty_database, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def shared_database(server: str, template: str) -> Iterator[str]:
    yield from _database(server, template)


@pytest.fixture(scope="session")
def shared_store(shared_database: str) -> Iterator[Store]:
    with Store(shared_database) as store:
        yield store


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a database with the schema and no jobs.

    It is one for all and wiped before each test, unless the test is marked ``fresh_database``.
    """
    if request.node.get_closest_marker("fresh_database"):
        template = request.getfixturevalue("template")
        yield from _database(request.getfixturevalue("server"), template)
    else:
        url: str = request.getfixturevalue("shared_database")
        wipe(url)
        yield url


def _database(server: str, template: str) -> Iterator[str]:
    name = f"test_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
        yield with_database(server, name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def wipe(url: str) -> None:
    """Make the database as good as new: no rows, no further tenants, the real clock."""
    with psycopg.connect(url, autocommit=True) as connection:
        # What a test gave up on may still be under way, and would be committed into the next one.
        leftover = "application_name = 'tenure keeper' AND datname = current_database()"
        ending = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {leftover}"
        while connection.execute(ending.encode()).fetchall():
            time.sleep(0.01)
        # The clock first: what a test put in its place depends on a schema that is dropped next.
        connection.execute(dict(schema._files("verbs", "control"))["now"].encode())
        connection.execute(_WIPE)


_WIPE = """
DO $$
DECLARE
    one record;
BEGIN
    FOR one IN SELECT nspname FROM pg_namespace WHERE nspname LIKE 'tenure!_%' ESCAPE '!' LOOP
        EXECUTE format('DROP SCHEMA %I CASCADE', one.nspname);
    END LOOP;
    FOR one IN
        SELECT t.tgname, t.tgrelid::regclass AS place FROM pg_trigger AS t WHERE NOT t.tgisinternal
    LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', one.tgname, one.place);
    END LOOP;
    FOR one IN SELECT c.oid::regclass AS place FROM pg_class AS c
        WHERE c.relnamespace = 'tenure'::regnamespace AND c.relkind = 'r'
          AND c.relname NOT IN ('migration', 'verbs', 'tenant', 'strategy')
    LOOP
        EXECUTE format('DELETE FROM %s', one.place);
    END LOOP;
    DELETE FROM tenure.strategy WHERE created_by <> 'tenure';
    DELETE FROM tenure.tenant WHERE name <> 'default';
    DELETE FROM tenure.migration WHERE scope NOT IN ('', 'default');
    DELETE FROM tenure.verbs WHERE scope NOT IN ('', 'default');
    PERFORM setval(c.oid, 1, false) FROM pg_class AS c
    WHERE c.relnamespace = 'tenure'::regnamespace AND c.relkind = 'S';
END $$
"""


@pytest.fixture
def store(request: pytest.FixtureRequest, database: str) -> Iterator[Store]:
    if request.node.get_closest_marker("fresh_database"):
        with Store(database) as store:
            yield store
    else:
        yield request.getfixturevalue("shared_store")


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
