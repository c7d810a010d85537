"""Jobs of a day gone by, and what is counted of them."""

import random
from datetime import UTC, datetime, timedelta

import psycopg

from tenure.domain.lifecycle import State
from tenure.store.rollups import EndCounts
from tenure.store.store import Store
from tests.factories import make_job_in

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
OFF = 0.1  # by which a time may be told wrong, of itself

JOBS = """
INSERT INTO tenure.job (
    root_id, created_at, run_at, started_at, ended_at, lane, state, max_attempts)
SELECT 0, ended - (wait + run) * interval '1 s', ended - (wait + run) * interval '1 s',
    ended - run * interval '1 s', ended,
    (SELECT id FROM tenure.lane WHERE queue = %(queue)s LIMIT 1), state::tenure.state, 1
FROM unnest(%(ended)s::timestamptz[], %(wait)s::float8[], %(run)s::float8[], %(state)s::text[])
    AS j(ended, wait, run, state)
"""


def counts(ends: EndCounts) -> tuple[int, int, int]:
    return ends.completed, ends.failed, ends.cancelled


def ended_jobs(
    sql: psycopg.Connection,
    n: int,
    *,
    queue: str = "default",
    ago: tuple[timedelta, timedelta] = (5 * MINUTE, 23 * HOUR),
    seed: int = 1,
) -> list[tuple[str, float, float]]:
    """That many jobs of a day gone by: how each ended, and how long it waited and ran."""
    draw = random.Random(seed)
    sql.execute(
        "INSERT INTO tenure.lane (queue, task) SELECT %(queue)s, 'work' WHERE NOT EXISTS ("
        " SELECT FROM tenure.lane WHERE queue = %(queue)s)",
        {"queue": queue},
    )
    now = datetime.now(UTC)
    at = [now - ago[0] - draw.random() * (ago[1] - ago[0]) for _ in range(n)]
    wait = [draw.lognormvariate(-2, 2) for _ in range(n)]
    run = [draw.lognormvariate(0, 1.5) for _ in range(n)]
    state = draw.choices(["completed", "failed", "cancelled"], [90, 8, 2], k=n)
    given = {"queue": queue, "ended": at, "wait": wait, "run": run, "state": state}
    sql.execute(JOBS.encode(), given)
    return list(zip(state, wait, run, strict=True))


def roll_up(store: Store) -> int:
    """All that can be counted now; how many jobs that were."""
    jobs = 0
    while True:
        rolled = store.roll_up()
        jobs += rolled.jobs
        if not rolled.more:
            return jobs


def end_one(store: Store, **fields: object) -> int:
    return make_job_in(store, State.COMPLETED, **fields)
