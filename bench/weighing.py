"""How much memory a worker takes while it does nothing, and while its jobs sleep."""

import time
from collections.abc import Iterator

import psutil
import psycopg

from bench.figures import Figure, console, figure
from bench.processes import pss
from bench.working import Bench, Worker, worker
from tenure.domain.job import NewJob
from tenure.store.store import Store

IDLE_APP = "bench.idle_app:app"
_SETTLES = 1.5  # seconds for a spare to be imported

_RUNNING = "SELECT count(*) FROM tenure.job WHERE state = 'running'"


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


def _weights(at_work: Worker, loop_runner: psutil.Process) -> dict[str, float]:
    who = {"keeper": at_work.keeper, "guard": at_work.guard, "loop runner": loop_runner}
    return {name: pss(process) for name, process in who.items()}


def _all_run(connection: psycopg.Connection, n: int) -> bool:
    row = connection.execute(_RUNNING).fetchone()
    return row is not None and row[0] == n
