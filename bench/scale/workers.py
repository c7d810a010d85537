"""More workers on one machine: jobs that do nothing, so the database is what they share."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import psycopg

from bench.figures import console
from bench.filling import enqueue
from bench.processes import family_cpu, postmaster
from bench.running import CONCURRENCY, QUEUE, span, wait_for_all
from bench.scale.curves import Curve, points
from bench.scale.sizes import Scale
from bench.server import settle
from bench.working import WARM, Bench, worker
from tenure.store.store import Store


def grow_workers(scale: Scale) -> Iterator[Curve]:
    rates, costs = [], []
    for n in scale.workers:
        console.print(f"{n} workers")
        rate, cost = drain_with(scale.bench, n, scale.drained)
        rates.append((n, rate))
        costs.append((n, cost))
    yield Curve("jobs per second", "workers", "jobs/s", {"all together": points(rates)})
    yield Curve("CPU of PostgreSQL for a job", "workers", "us", {"PostgreSQL": points(costs)})


def drain_with(bench: Bench, n: int, jobs: int) -> tuple[float, float]:
    """Jobs per second of n workers together, and microseconds of PostgreSQL for a job."""
    with (
        bench.server.database() as url,
        Store(url) as store,
        psycopg.connect(url, autocommit=True) as connection,
        ExitStack() as stack,
    ):
        store.pause_dispatch("queue", QUEUE)
        enqueue(connection, jobs)
        settle(connection)
        for number in range(n):
            warm = f"{WARM}-{number}"
            queues = ("--queues", f"{QUEUE},{warm}", "--concurrency", CONCURRENCY)
            at_work = stack.enter_context(worker(bench, url, *queues))
            at_work.warm_up(store, warm)
        used = partial(family_cpu, postmaster(connection))
        before = used()
        store.resume_dispatch("queue", QUEUE)
        wait_for_all(at_work, connection)
        spent = used() - before
        return jobs / span(connection, jobs), spent / jobs * 1e6
