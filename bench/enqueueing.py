"""Bulk enqueue beside COPY into the bare table."""

from collections.abc import Iterator
from time import perf_counter

import psycopg

from bench.exchanging import copy
from bench.figures import Figure, console, figure
from bench.filling import arguments, enqueue_all
from bench.loops import BareLoop
from bench.server import Server


def enqueue_in_bulk(server: Server) -> Iterator[Figure]:
    texts = arguments(server.sizes.hundred_thousand)
    copied: list[float] = []
    enqueued: list[float] = []
    for number in range(server.sizes.rounds):
        console.print(f"bulk enqueue, round {number + 1} of {server.sizes.rounds}")
        with psycopg.connect(server.url, autocommit=True) as connection:
            BareLoop.create_table(connection)
            connection.execute("CHECKPOINT")
            start = perf_counter()
            copy(connection, texts)
            copied.append(len(texts) / (perf_counter() - start))
        with server.database() as url, psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
            start = perf_counter()
            enqueue_all(connection, texts)
            enqueued.append(len(texts) / (perf_counter() - start))
    reference = figure("COPY into a bare table", copied, "jobs/s")
    yield reference
    yield figure(
        "bulk enqueue: enqueue_many, 10,000 a call",
        enqueued,
        "jobs/s",
        against=reference,
        at_least=0.35,
    )
