"""What a beat costs a worker that holds much, beside one that holds a single job."""

from collections.abc import Iterator
from time import perf_counter
from uuid import UUID, uuid4

import psycopg

from bench.figures import Figure, console, figure
from bench.filling import enqueue
from bench.loops import CLAIM, LEASE, REGISTER
from bench.server import Server, settle

MANY = 1_000


def beat(server: Server) -> Iterator[Figure]:
    console.print(f"beats of a worker with {MANY:,} jobs")
    with server.database() as url, psycopg.connect(url, autocommit=True) as connection:
        enqueue(connection, MANY + 1)
        settle(connection)
        one, many = _worker(connection, 1), _worker(connection, MANY)
        few_times: list[float] = []
        many_times: list[float] = []
        for _ in range(server.sizes.rounds * server.sizes.beats):
            few_times.append(_renew(connection, one))
            many_times.append(_renew(connection, many))
    reference = figure("beat of a worker that holds 1 job", few_times, "ms")
    yield reference
    yield figure(
        f"beat of a worker that holds {MANY:,} jobs",
        many_times,
        "ms",
        against=reference,
        at_most=2,
    )


def _worker(connection: psycopg.Connection, holds: int) -> UUID:
    worker = uuid4()
    connection.execute(REGISTER, (worker, LEASE))
    connection.execute(CLAIM, (worker, holds, None)).fetchone()
    return worker


def _renew(connection: psycopg.Connection, worker: UUID) -> float:
    start = perf_counter()
    connection.execute("SELECT tenure.renew(%s)::text", (worker,), prepare=True).fetchone()
    return (perf_counter() - start) * 1000
