"""A stage for races. One database serves them all and is emptied between two of them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.conftest import Connect, with_database
from tests.store.races.stage import Stage

_KEPT = ("migration", "verbs", "tenant")


@pytest.fixture(scope="session")
def arena(server: str, template: str) -> Iterator[str]:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE arena TEMPLATE {template}".encode())
        yield with_database(server, "arena")
        connection.execute("DROP DATABASE arena WITH (FORCE)")


@pytest.fixture
def database(arena: str) -> Iterator[str]:
    """The URL of a database with the schema and no jobs."""
    yield arena
    with psycopg.connect(arena, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT string_agg(format('tenure.%%I', relname), ', ') FROM pg_class WHERE "
            "relnamespace = 'tenure'::regnamespace AND relkind = 'r' AND relname <> ALL (%s)",
            (list(_KEPT),),
        ).fetchall()
        connection.execute("SET lock_timeout = '10s'")
        connection.execute(f"TRUNCATE {rows[0][0]} RESTART IDENTITY".encode())


@pytest.fixture
def stage(connect: Connect, sql: psycopg.Connection) -> Iterator[Stage]:
    with ThreadPoolExecutor(max_workers=12) as threads:
        stage = Stage(connect, sql, threads)
        yield stage
        stage.clear_up()
