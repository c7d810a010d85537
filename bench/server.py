"""The PostgreSQL of a run, and a database of its own for everything that is measured."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path

import psycopg

from bench.figures import console
from bench.filling import enqueue
from tenure.store import schema
from tenure.store.embedded import Embedded

_SETTINGS = {
    "shared_buffers": "512MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
    "fsync": "on",
    "synchronous_commit": "on",
}


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    rounds: int = 3
    exchanged: int = 50_000  # jobs in one round of claim and finish
    sustained_seconds: float = 180
    window: float = 5  # seconds
    million: int = 1_000_000
    top_up: int = 200_000
    hundred_thousand: int = 100_000
    claims: int = 50  # in one round
    targets: int = 10_000
    tree: int = 10_000
    beats: int = 200  # in one round
    singly: int = 100  # enqueued one by one in one turn


QUICK = Sizes(
    exchanged=10_000,
    sustained_seconds=6,
    window=2,
    million=50_000,
    top_up=20_000,
    hundred_thousand=10_000,
    claims=5,
    targets=1_000,
    tree=1_000,
    beats=50,
    singly=20,
)


@dataclass(frozen=True)
class Server:
    url: str
    sizes: Sizes
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def settings(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in _SETTINGS.items())

    def at(self, database: str) -> str:
        return self.url.replace("/tenure?", f"/{database}?")

    @cached_property
    def with_schema(self) -> str:
        """The name of a database with the schema and no jobs."""
        name = self._create("template1")
        with psycopg.connect(self.at(name), autocommit=True) as connection:
            schema.migrate(connection)
        return name

    @cached_property
    def with_a_million(self) -> str:
        """The name of a database with a million pending jobs."""
        name = self._create(self.with_schema)
        console.print(f"enqueueing {self.sizes.million:,} jobs")
        with psycopg.connect(self.at(name), autocommit=True) as connection:
            enqueue(connection, self.sizes.million)
            connection.execute("VACUUM (ANALYZE)")
        return name

    @contextmanager
    def database(self, template: str | None = None) -> Iterator[str]:
        """The URL of a database from a template, for as long as it is measured."""
        name = self._create(template or self.with_schema)
        yield self.at(name)
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())

    def _create(self, template: str) -> str:
        name = f"bench_{next(self._numbers)}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            statement = f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy"
            connection.execute(statement.encode())
        return name


@contextmanager
def serve(sizes: Sizes) -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="tenure-bench-") as folder:
        place = Path(folder) / "pg"
        with (
            Embedded.open(place) as embedded,
            psycopg.connect(embedded.url, autocommit=True) as connection,
        ):
            for name, value in _SETTINGS.items():
                connection.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
        # Opened again, because shared_buffers is read at the start.
        with Embedded.open(place) as embedded:
            yield Server(embedded.url, sizes)


def settle(connection: psycopg.Connection) -> None:
    """What a round starts with: fresh statistics, no dead rows, nothing left to write."""
    connection.execute("VACUUM (ANALYZE)")
    connection.execute("CHECKPOINT")
