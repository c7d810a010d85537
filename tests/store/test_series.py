"""Checkpoints and spending over time: kept evenly, within a bound, fenced as reports are."""

from typing import Any

import psycopg

from tenure.domain.job import Job
from tenure.store.outcomes import Report
from tenure.store.store import Store
from tests.factories import make_job, make_worker, promote

_SERIES = b"""
    WITH RECURSIVE series AS (
        SELECT 0::bigint AS n, '{}'::bigint[] AS kept
        UNION ALL SELECT n + 1, tenure.sampled(kept, n, n) FROM series WHERE n < %s)
    SELECT kept FROM series
"""


def test_at_most_fifty_values_are_kept_evenly(database: str) -> None:
    with psycopg.connect(database) as connection:
        rows = connection.execute(_SERIES, (3000,)).fetchall()
    for n, (kept,) in enumerate(rows):
        step = 1
        while (n - 1) // step >= 50:
            step *= 2
        assert kept == list(range(0, n, step)), n
        assert len(kept) <= 50


def test_checkpoints_are_counted_with_their_times(store: Store) -> None:
    job = make_job(store)
    worker = make_worker(store)
    token = worker.claim_one().token
    for n in range(120):
        reports = [Report(job=job, token=token, checkpoint={"n": n})]
        if n % 2:
            reports.append(Report(job=job, token=token, progress={"done": n}))
        store.report(worker.id, reports)
    seen = store.show(job)
    assert seen.checkpoints == 120
    assert 25 <= len(seen.checkpoint_times) <= 51
    assert list(seen.checkpoint_times) == sorted(set(seen.checkpoint_times))
    first, last = seen.checkpoint_times[0], seen.checkpoint_times[-1]
    store.report(worker.id, [Report(job=job, token=token, progress={"done": 1})])
    seen = store.show(job)
    assert (seen.checkpoints, seen.checkpoint_times[-1]) == (120, last), "progress is none"
    store.report(worker.id, [Report(job=job, token=token, checkpoint={"n": -1})])
    seen = store.show(job)
    assert seen.checkpoint_times[0] == first
    assert seen.checkpoint_times[-1] > last, "the newest is always there"
    store.report(worker.id, [Report(job=job, token=token + 1, checkpoint={"n": "late"})])
    assert store.show(job).checkpoints == 121, "not of an attempt that is over"


def test_a_plain_job_has_neither(store: Store) -> None:
    job = make_job(store)
    worker = make_worker(store)
    worker.finish(worker.claim_one())
    seen = store.show(job)
    assert (seen.checkpoints, seen.checkpoint_times, seen.spending) == (0, (), {})


def test_spending_of_all_workers_adds_up_over_time(store: Store) -> None:
    parent = make_job(store)
    workers = [make_worker(store) for _ in range(2)]
    [held] = workers[0].claim(1)
    children = [make_job(store, parent=parent) for _ in range(2)]
    promote(store)
    theirs = [worker.claim_one() for worker in workers]
    for n in range(90):
        for worker, child in zip(workers, theirs, strict=True):
            spent: Any = {"tokens": 2.5, "usd": 0.1} if n else {"tokens": 2.5}
            store.report(worker.id, [Report(job=child.id, token=child.token, spent=spent)])
    store.report(workers[0].id, [Report(job=parent, token=held.token, spent={"tokens": 10})])
    whole, part = store.show(parent), store.show(children[0])
    assert total(whole) == {"tokens": 460, "usd": 17.8}
    assert total(part) == {"tokens": 225, "usd": 8.9}
    assert whole.spent == total(whole)
    for points in (*whole.spending.values(), *part.spending.values()):
        assert 20 <= len(points) <= 110
        assert list(points) == sorted(points), "it only grows"
    assert set(part.spending) == {"tokens", "usd"}


def total(job: Job) -> dict[str, float]:
    return {unit: points[-1][1] for unit, points in job.spending.items()}
