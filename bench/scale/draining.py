"""What a worker makes of jobs that are there when it starts."""

from collections.abc import Iterable, Sequence

import psycopg

from bench.running import CONCURRENCY, QUEUE, span
from bench.scale.sizes import Scale
from bench.server import settle
from bench.working import worker
from tenure.domain.job import NewJob
from tenure.store.store import Store


def drain(scale: Scale, calls: Iterable[Sequence[NewJob]]) -> float:
    """Jobs per second, of all that these calls of enqueue bring."""
    with (
        scale.bench.server.database() as url,
        Store(url) as store,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        store.pause_dispatch("queue", QUEUE)
        jobs = sum(len(store.enqueue(call)) for call in calls)
        settle(connection)
        with worker(scale.bench, url, "--concurrency", CONCURRENCY) as at_work:
            at_work.warm_up(store)
            store.resume_dispatch("queue", QUEUE)
            at_work.until(lambda: _all_done(connection, jobs), "all jobs ended", 600, 0.1)
        return jobs / span(connection, jobs)


def _all_done(connection: psycopg.Connection, jobs: int) -> bool:
    [(done,)] = connection.execute("SELECT count(*) FROM tenure.job WHERE state = 'completed'")
    return int(done) > jobs  # the one that warmed it up is among them
