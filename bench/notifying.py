"""The least that a pick-up can take: a commit, a notification, and a commit by who receives it."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from bench.working import ROOT

_ROW = 400  # bytes, about as long as the row of a job
_TABLE = "CREATE TABLE floor (id bigserial PRIMARY KEY, state text NOT NULL, content text NOT NULL)"
_INSERT = "INSERT INTO floor (state, content) SELECT 'ready', %s FROM pg_notify('floor', '')"
_UPDATE = "UPDATE floor SET state = 'running' WHERE state = 'ready' AND id = %s"


class Floor:
    def __init__(self, connection: "psycopg.Connection[tuple[object, ...]]", seen: Iterator[str]):
        self._connection = connection
        self._seen = seen

    def milliseconds(self) -> float:
        """Measure from the first statement to the moment when the second is committed."""
        called = time.monotonic_ns()
        self._connection.execute(_INSERT, ("x" * _ROW,), prepare=True)
        return (int(next(self._seen)) - called) / 1e6


@contextmanager
def floor(url: str) -> Iterator[Floor]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_TABLE)
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "bench.notifying", url],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            next(process.stdout)
            yield Floor(connection, process.stdout)
        finally:
            process.kill()
            process.communicate()


def main() -> None:
    [_, url] = sys.argv
    with (
        psycopg.connect(url, autocommit=True) as listening,
        psycopg.connect(url, autocommit=True) as writing,
    ):
        listening.execute("LISTEN floor")
        print("ready", flush=True)  # noqa: T201
        for number, _ in enumerate(listening.notifies(), 1):
            writing.execute(_UPDATE, (number,), prepare=True)
            print(time.monotonic_ns(), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
