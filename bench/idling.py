"""What a worker costs while it does nothing: memory, and queries."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import psycopg
from psycopg.conninfo import conninfo_to_dict

from bench.figures import Figure, console, figure
from bench.processes import pss
from bench.working import Bench, Worker, worker
from tenure.domain.job import NewJob
from tenure.store.store import Store

IDLE_APP = "bench.idle_app:app"
_SETTLES = 2.0  # seconds for a spare to be imported

_RUNNING = "SELECT count(*) FROM tenure.job WHERE state = 'running'"
_COMMITS = "SELECT xact_commit FROM pg_stat_database WHERE datname = %s"


def weigh(bench: Bench) -> Iterator[Figure]:
    """Proportional set sizes: of an idle worker, and with coroutines that sleep in it."""
    n = bench.amounts.sleeping
    console.print(f"memory of a worker, idle and with {n:,} coroutines")
    with (
        bench.server.database() as url,
        Store(url) as store,
        worker(bench, url, "--concurrency", str(n), app=IDLE_APP) as at_work,
    ):
        loop_runner = at_work.warm_up(store)
        time.sleep(_SETTLES)
        idle = _weights(at_work, loop_runner)
        store.enqueue([NewJob(task="sleeps") for _ in range(n)])
        with psycopg.connect(url, autocommit=True) as connection:
            at_work.until(lambda: _all_run(connection, n), f"{n} coroutines slept")
        time.sleep(_SETTLES)
        full = _weights(at_work, loop_runner)
        spares = [one for one in at_work.runners if one != loop_runner]
        spare = sum(map(pss, spares))
    for who, megabytes in idle.items():
        yield figure(f"memory of an idle worker: {who}", megabytes, "MB")
    whole = figure("memory of an idle worker", sum(idle.values()), "MB", at_most=100)
    yield whole
    yield figure(f"memory of an idle worker: spare, beside it ({len(spares)})", spare, "MB")
    for who, megabytes in full.items():
        grown = megabytes - idle[who]
        yield figure(f"{n:,} coroutines asleep: growth of {who}", grown, "MB")
    grown = sum(full.values()) - sum(idle.values())
    yield figure(f"{n:,} coroutines asleep: growth", grown, "MB", at_most=40)


def count_queries(bench: Bench) -> Iterator[Figure]:
    """Transactions in a database where nobody else is, counted from outside of it."""
    seconds = bench.amounts.idle
    console.print(f"queries of an idle worker, {seconds:g} s")
    with (
        bench.server.database() as url,
        _no_autovacuum(bench.server.url) as outside,
        worker(bench, url, app=IDLE_APP) as at_work,
    ):
        with Store(url) as store:
            at_work.warm_up(store)
        time.sleep(_SETTLES)
        name = str(conninfo_to_dict(url)["dbname"])
        before, start = _commits(outside, name), time.perf_counter()
        time.sleep(seconds)
        after, end = _commits(outside, name), time.perf_counter()
    yield figure("queries of an idle worker", (after - before) / (end - start), "/s", at_most=1)


def _weights(at_work: Worker, loop_runner: psutil.Process) -> dict[str, float]:
    who = {"keeper": at_work.keeper, "guard": at_work.guard, "loop runner": loop_runner}
    return {name: pss(process) for name, process in who.items()}


def _all_run(connection: psycopg.Connection, n: int) -> bool:
    row = connection.execute(_RUNNING).fetchone()
    return row is not None and row[0] == n


@contextmanager
def _no_autovacuum(url: str) -> Iterator[psycopg.Connection]:
    """Its transactions would be counted too."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET autovacuum = off")
        connection.execute("SELECT pg_reload_conf()")
        try:
            yield connection
        finally:
            connection.execute("ALTER SYSTEM RESET autovacuum")
            connection.execute("SELECT pg_reload_conf()")


def _commits(connection: psycopg.Connection, database: str) -> int:
    row = connection.execute(_COMMITS, (database,)).fetchone()
    assert row is not None
    return int(row[0])
