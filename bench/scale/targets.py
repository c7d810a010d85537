"""More targets, each with a line of jobs that run one after the other."""

from collections.abc import Iterator

import psycopg

from bench.figures import console
from bench.running import CONCURRENCY, QUEUE, span
from bench.scale.curves import Curve, points
from bench.scale.sizes import Scale
from bench.server import settle
from bench.working import worker
from tenure.domain.job import NewJob
from tenure.store.store import Store

_CALL = 1_000


def grow_targets(scale: Scale) -> Iterator[Curve]:
    rates = []
    for n in scale.targets:
        console.print(f"{n:,} targets")
        rates.append((n, _drain(scale, n)))
    yield Curve("jobs of serial targets", "targets", "jobs/s", {"one worker": points(rates)})


def _drain(scale: Scale, n: int) -> float:
    jobs = min(scale.of_targets, n * scale.of_one_target)
    with (
        scale.bench.server.database() as url,
        Store(url) as store,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        store.pause("queue", QUEUE)
        drafts = [
            NewJob(task="noop", args={"n": number}, target=f"target-{number % n}")
            for number in range(jobs)
        ]
        for start in range(0, jobs, _CALL):
            store.enqueue(drafts[start : start + _CALL])
        settle(connection)
        with worker(scale.bench, url, "--concurrency", CONCURRENCY) as at_work:
            at_work.warm_up(store)
            store.unpause("queue", QUEUE)
            at_work.until(lambda: _all_done(connection, jobs), "all jobs ended", 600, 0.1)
        return jobs / span(connection, jobs)


def _all_done(connection: psycopg.Connection, jobs: int) -> bool:
    [(done,)] = connection.execute("SELECT count(*) FROM tenure.job WHERE state = 'completed'")
    return int(done) > jobs  # the one that warmed it up is among them
