"""Promote over many targets, each with a line of jobs.

Every enqueued job leaves a wake and every finished one leaves another, as in life. Promote runs
until it finds nothing, then all that is ready is claimed and finished, which frees the targets.
Only the time of promote counts.
"""

from collections.abc import Iterator
from time import perf_counter

import psycopg

from bench.figures import Figure, console, figure
from bench.loops import VerbLoop
from bench.server import Server, settle
from tenure.domain.job import NewJob
from tenure.store.store import Store

LINE = 5  # jobs of each target
_CALL = 1_000


def promote_targets(server: Server) -> Iterator[Figure]:
    targets = server.sizes.targets
    console.print(f"promote over {targets:,} targets")
    with (
        server.database() as url,
        Store(url) as store,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        jobs = [NewJob(task="noop", target=f"target-{n % targets}") for n in range(LINE * targets)]
        for start in range(0, len(jobs), _CALL):
            store.enqueue(jobs[start : start + _CALL])
        settle(connection)
        loop = VerbLoop(connection)
        done, seconds = 0, 0.0
        while done < len(jobs):
            seconds += _promote_all(connection)
            while taken := loop.step():
                done += taken
    yield figure(f"promote over {targets:,} targets", done / seconds, "jobs/s", at_least=8_000)


def _promote_all(connection: psycopg.Connection) -> float:
    start = perf_counter()
    while True:
        row = connection.execute("SELECT tenure.promote()", prepare=True).fetchone()
        assert row is not None
        if not row[0]["targets"]:
            return perf_counter() - start
