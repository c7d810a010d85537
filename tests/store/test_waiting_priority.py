"""waiting_priority: the highest priority of the jobs that wait for a slot."""

from datetime import timedelta

import psycopg

from tenure.store.store import Store
from tests.factories import make_job, make_worker


def test_it_is_the_highest_priority_of_the_claimable_jobs(store: Store) -> None:
    worker = make_worker(store)
    assert store.waiting_priority(worker.id) is None
    for priority in (0, 7, -3):
        make_job(store, priority=priority)
    assert store.waiting_priority(worker.id) == 7
    worker.claim_one()
    assert store.waiting_priority(worker.id) == 0


def test_it_counts_neither_other_queues_and_tasks_nor_what_is_not_ready(store: Store) -> None:
    worker = make_worker(store, queues=["default"])
    make_job(store, "quick", priority=-5)
    make_job(store, "slow", priority=1)
    make_job(store, "slow", priority=2, queue="far")
    make_job(store, "slow", priority=3, delay=timedelta(hours=1))
    make_job(store, "slow", priority=4, target="x")  # not promoted yet
    assert store.waiting_priority(worker.id) == 1
    assert store.waiting_priority(worker.id, queues=["far"]) == 2
    assert store.waiting_priority(worker.id, tasks=["quick"]) == -5
    assert store.waiting_priority(worker.id, tasks=["none"]) is None


def test_what_is_paused_or_has_no_slot_does_not_count(store: Store) -> None:
    worker = make_worker(store)
    store.create_pool("trees", ["t1"])
    make_job(store, priority=9, pools=["trees"])
    make_job(store, priority=1, pools=["trees"])
    make_job(store, priority=2, queue="far")
    worker.claim_one()
    assert store.waiting_priority(worker.id) == 2
    store.pause_dispatch("queue", "far")
    assert store.waiting_priority(worker.id) is None
    store.resume_dispatch("queue", "far")
    store.pause_dispatch("tenant")
    assert store.waiting_priority(worker.id) is None


def test_a_worker_that_cannot_claim_sees_no_waiting_job(
    store: Store, sql: psycopg.Connection
) -> None:
    make_job(store)
    drained, dead = make_worker(store), make_worker(store)
    store.drain(drained.id)
    store.leave(dead.id)
    assert store.waiting_priority(drained.id) is None
    assert store.waiting_priority(dead.id) is None
