"""statistics: counts by status and queue, and the oldest age."""

from datetime import timedelta

import psycopg
import pytest

from tenure.domain.job import NEVER
from tenure.domain.lifecycle import Intent
from tenure.store.store import Store
from tenure.testing import Clock
from tests.factories import make_job, make_worker, promote

ERROR = {"type": "ValueError", "message": "no"}


def test_the_statistics_of_an_empty_tenant_are_zero(store: Store) -> None:
    counted = store.statistics()
    assert (counted.total, counted.by_status, counted.queues) == (0, {}, {})
    assert (counted.refused, counted.recovered) == (0, 0)


def test_every_job_is_counted_once_under_its_status(store: Store) -> None:
    worker = make_worker(store)
    for outcome in ("completed", "failed", "retry"):
        make_job(store)
        job = worker.claim_one()
        worker.finish(job, outcome, error=None if outcome == "completed" else ERROR)
    store.stop(worker.claim_one().id)
    make_job(store)
    worker.claim_one()
    make_job(store, delay=timedelta(hours=1))
    make_job(store, run_at=NEVER)
    make_job(store, target="site:x")
    make_job(store, target="site:x")
    promote(store)
    store.stop(make_job(store), intent=Intent.PAUSE)
    store.stop(make_job(store))
    counted = store.statistics()
    assert counted.by_status == {
        "completed": 1,
        "failed": 1,
        "cancelling": 1,
        "running": 1,
        "scheduled": 1,
        "pending": 1,
        "queued": 1,
        "blocked": 1,
        "paused": 1,
        "cancelled": 1,
    }
    assert counted.total == sum(counted.by_status.values())


def test_each_queue_is_counted_by_itself(store: Store) -> None:
    make_job(store, queue="a")
    make_job(store, queue="a", task="other")
    store.stop(make_job(store, queue="b"))
    store.pause_dispatch("queue", "b")
    queues = store.statistics().queues
    assert {name: queue.by_status for name, queue in queues.items()} == {
        "a": {"queued": 2},
        "b": {"cancelled": 1},
    }
    assert (queues["a"].paused, queues["b"].paused) == (False, True)


def test_a_queue_says_how_long_the_oldest_has_been_ready(store: Store, clock: Clock) -> None:
    make_job(store, queue="a")
    clock.advance(timedelta(minutes=5))
    make_job(store, queue="a")
    store.stop(make_job(store, queue="b"))
    queues = store.statistics().queues
    assert queues["a"].oldest_seconds == pytest.approx(300, abs=30)
    assert queues["b"].oldest_seconds is None
    make_worker(store).claim_one()
    assert store.statistics().queues["a"].oldest_seconds == pytest.approx(0, abs=30)


def test_refused_writes_and_recoveries_are_counted(store: Store, sql: psycopg.Connection) -> None:
    for _ in range(2):
        make_job(store)
    worker = make_worker(store)
    jobs = worker.claim(2)
    sql.execute("UPDATE tenure.worker SET expires_at = clock_timestamp() - interval '1 second'")
    store.recover()
    for job in jobs:
        worker.finish(job)
    worker.finish(jobs[0])
    counted = store.statistics()
    assert (counted.refused, counted.recovered) == (3, 2)
    (event,) = (e for e in store.job_output(jobs[1].id, "events") if e["kind"] == "refused")
    assert (event["worker_id"], event["detail"]["outcome"]) == (str(worker.id), "completed")
