"""One enqueue after the other, beside the committed INSERT of a row of the same size."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from time import perf_counter

import psycopg

from bench.figures import Figure, console, figure
from bench.server import Server, settle
from tenure.app import Tenure
from tenure.control.task import Task

_TURNS = 20  # of each kind, one after the other
_TABLE = "CREATE TABLE bare_row (id bigserial PRIMARY KEY, content text NOT NULL)"
_INSERT = "INSERT INTO bare_row (content) VALUES (%s) RETURNING id"
_SIZE = """
    SELECT pg_column_size(j.*) + pg_column_size(p.*)
    FROM tenure.job AS j JOIN tenure.payload AS p ON p.job_id = j.id WHERE j.id = %s
"""
_HEAD = 24 + 8 + 4  # bytes of the bare row beside its content

Step = Callable[[], object]
AsyncStep = Callable[[], Awaitable[object]]


def enqueue_singly(server: Server) -> Iterator[Figure]:
    """Jobs of a task with a short argument, without and with async."""
    console.print(f"enqueueing one by one, {_TURNS} turns of {server.sizes.singly}")
    with server.database() as url, Tenure(url) as app:

        @app.task(name="noop")
        async def noop(n: int) -> None: ...

        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_TABLE)
            row = connection.execute(_SIZE, (noop.enqueue(1).id,)).fetchone()
            assert row is not None
            content = "x" * (row[0] - _HEAD)
            settle(connection)
            yield from _compare("sync", *_in_turns(server, connection, noop, content))
            settle(connection)
        yield from _compare("async", *asyncio.run(_in_async_turns(server, url, noop, content)))


def _compare(kind: str, bare: list[float], enqueued: list[float]) -> Iterator[Figure]:
    reference = figure(f"committed INSERT of one bare row, {kind}", bare, "rows/s")
    yield reference
    yield figure(f"enqueue one by one, {kind}", enqueued, "jobs/s", against=reference, at_least=0.8)


def _in_turns(
    server: Server,
    connection: "psycopg.Connection[tuple[int, ...]]",
    task: "Task[[int], None]",
    content: str,
) -> tuple[list[float], list[float]]:
    def insert() -> object:
        return connection.execute(_INSERT, (content,)).fetchone()

    def rate(step: Step) -> float:
        start = perf_counter()
        for _ in range(server.sizes.singly):
            step()
        return server.sizes.singly / (perf_counter() - start)

    rates = [(rate(insert), rate(lambda: task.enqueue(1))) for _ in range(1 + _TURNS)]
    return [bare for bare, _ in rates[1:]], [enqueued for _, enqueued in rates[1:]]


async def _in_async_turns(
    server: Server, url: str, task: "Task[[int], None]", content: str
) -> tuple[list[float], list[float]]:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:

        async def insert() -> object:
            return await (await connection.execute(_INSERT, (content,))).fetchone()

        async def rate(step: AsyncStep) -> float:
            start = perf_counter()
            for _ in range(server.sizes.singly):
                await step()
            return server.sizes.singly / (perf_counter() - start)

        rates = [
            (await rate(insert), await rate(lambda: task.aenqueue(1))) for _ in range(1 + _TURNS)
        ]
        await task.client.aclose()
    return [bare for bare, _ in rates[1:]], [enqueued for _, enqueued in rates[1:]]
