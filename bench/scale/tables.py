"""More jobs in the table, all of them over: what they cost those that are not."""

import time
from collections.abc import Callable, Iterator
from statistics import median

import psycopg

from bench.figures import console
from bench.filling import enqueue
from bench.loops import VerbLoop, drain
from bench.scale.curves import Curve, points
from bench.scale.sizes import Scale
from bench.server import settle
from tenure.domain.job import NewJob
from tenure.store.store import Store

_COLUMNS = """
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
    WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""
_TABLES = ("job", "payload", "outcome", "attempt")  # what an ended job leaves
_SIZE = "SELECT sum(pg_total_relation_size('tenure.' || name)) FROM unnest(%s::text[]) AS name"


def grow_tables(scale: Scale) -> Iterator[Curve]:
    rates, enqueued, listed, sizes = [], [], [], []
    with (
        scale.bench.server.database() as url,
        Store(url) as store,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        enqueue(connection, scale.finished[0])
        drain(VerbLoop(connection))
        for n in scale.finished:
            console.print(f"{n:,} finished jobs")
            copy_jobs(connection, n)
            settle(connection)
            sizes.append((n, _bytes(connection) / n))
            enqueued.append((n, _milliseconds(scale, lambda: store.enqueue(NewJob(task="noop")))))
            listed.append((n, _milliseconds(scale, lambda: store.list_jobs(n=50))))
            enqueue(connection, scale.drained)
            settle(connection)
            rates.append((n, drain(VerbLoop(connection))))
    yield Curve(
        "claim and finish beside finished jobs",
        "jobs in the table",
        "jobs/s",
        {"one connection": points(rates)},
    )
    yield Curve(
        "calls beside finished jobs",
        "jobs in the table",
        "ms",
        {"enqueue": points(enqueued), "a page of the list": points(listed)},
    )
    yield Curve("disk for a finished job", "jobs in the table", "bytes", {"all": points(sizes)})


def copy_jobs(connection: psycopg.Connection, n: int) -> None:
    """Until there are n: copies of those there are, as if they had ended at other times."""
    while (there := _count(connection)) < n:
        more = min(there, n - there)
        for table in _TABLES:
            _copy(connection, table, more)
        connection.execute("SELECT setval('tenure.job_id_seq', (SELECT max(id) FROM tenure.job))")


def _copy(connection: psycopg.Connection, table: str, n: int) -> None:
    [(names,)] = connection.execute(_COLUMNS, (f"tenure.{table}",))
    [(top,)] = connection.execute("SELECT last_value FROM tenure.job_id_seq")
    key = "id" if table == "job" else "job_id"
    new = {key: f"{key} + {top}"}
    if table == "job":
        new["root_id"] = new[key]
        new["ended_at"] = "ended_at - random() * interval '6 days'"
    chosen = ", ".join(new.get(name, name) for name in names.split(", "))
    copying = f"INSERT INTO tenure.{table} ({names}) OVERRIDING SYSTEM VALUE SELECT {chosen}"
    connection.execute(f"{copying} FROM tenure.{table} WHERE {key} <= {n}".encode())


def _count(connection: psycopg.Connection) -> int:
    [(found,)] = connection.execute("SELECT count(*) FROM tenure.job")
    return int(found)


def _bytes(connection: psycopg.Connection) -> float:
    [(found,)] = connection.execute(_SIZE, (list(_TABLES),))
    return float(found)


def _milliseconds(scale: Scale, call: Callable[[], object]) -> float:
    taken = []
    for _ in range(scale.latencies):
        began = time.perf_counter()
        call()
        taken.append((time.perf_counter() - began) * 1e3)
    return median(taken)
