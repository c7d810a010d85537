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
HEAVY_APP = "bench.heavy_app:app"
_PROCESSES = 10
_SETTLES = 1.5  # seconds for a spare to be imported

_RUNNING = "SELECT count(*) FROM tenure.job WHERE state = 'running'"


def weigh(bench: Bench) -> Iterator[Figure]:
    """Proportional set sizes: of an idle worker, with sleeping coroutines, and with processes."""
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
    for who, megabytes in idle.items():
        yield figure(f"memory of an idle worker: {who}", megabytes, "MB")
    yield figure("memory of an idle worker, with a spare", sum(idle.values()), "MB", at_most=70)
    for who, megabytes in full.items():
        grown = megabytes - idle[who]
        yield figure(f"{n:,} coroutines asleep: growth of {who}", grown, "MB")
    grown = sum(full.values()) - sum(idle.values())
    yield figure(f"{n:,} coroutines asleep: growth", grown, "MB", at_most=40)
    yield from _weigh_processes(bench)


def _weigh_processes(bench: Bench) -> Iterator[Figure]:
    """Processes at work in an app that imports SQLAlchemy and httpx."""
    console.print(f"memory of {_PROCESSES} processes")
    with (
        bench.server.database() as url,
        Store(url) as store,
        worker(bench, url, "--processes", str(_PROCESSES), app=HEAVY_APP) as at_work,
    ):
        store.enqueue([NewJob(task="sleeps_in_process") for _ in range(_PROCESSES)])
        with psycopg.connect(url, autocommit=True) as connection:
            at_work.until(lambda: _all_run(connection, _PROCESSES), "all processes slept")
        # All of them are at work, except the spare and the fork server.
        at_work.until(lambda: len(at_work.runners) > _PROCESSES, "all runners were there")
        time.sleep(_SETTLES)
        weights = sorted(map(pss, at_work.runners))
        whole = sum(weights) + pss(at_work.keeper) + pss(at_work.guard)
    name = f"memory of one of {_PROCESSES} processes, app imports SQLAlchemy and httpx"
    yield figure(f"{name}: mean", sum(weights) / len(weights), "MB", at_most=15)
    yield figure(f"{name}: largest", weights[-1], "MB", at_most=15)
    yield figure(f"memory of the whole worker with {_PROCESSES} processes", whole, "MB")


def _weights(at_work: Worker, loop_runner: psutil.Process) -> dict[str, float]:
    who = {"keeper": at_work.keeper, "guard": at_work.guard, "loop runner": loop_runner}
    others = [runner for runner in at_work.runners if runner != loop_runner]
    weights = {name: pss(process) for name, process in who.items()}
    return {**weights, "spare and fork server": sum(map(pss, others))}


def _all_run(connection: psycopg.Connection, n: int) -> bool:
    row = connection.execute(_RUNNING).fetchone()
    return row is not None and row[0] == n
