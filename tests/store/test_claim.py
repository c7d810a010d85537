"""claim: in order, from what is open, for who is alive, and never waiting."""

from datetime import timedelta
from typing import Any, Literal
from uuid import uuid4

import psycopg
import pytest

from tenure.domain.job import NEVER, NewJob
from tenure.domain.lifecycle import State
from tenure.store.results import Claimed
from tenure.store.store import Store
from tenure.testing import Clock
from tests.conftest import Connect
from tests.factories import Worker, make_job, make_worker, promote

HURRY = "SET lock_timeout = '50ms'"  # what waits is an error


def ids(jobs: tuple[Claimed, ...]) -> list[int]:
    return [job.id for job in jobs]


def test_a_claimed_job_is_told_with_all_its_worker_needs(store: Store) -> None:
    job = make_job(
        store,
        args={"site": "example.org"},
        queue="crawl",
        priority=3,
        max_attempts=2,
        options={"timeout": 60},
        budget={"tokens": 5},
        key="front",
    )
    worker = make_worker(store)

    claimed = worker.claim_one()

    assert (claimed.id, claimed.task, claimed.queue) == (job, "work", "crawl")
    assert claimed.args == {"site": "example.org"}
    assert (claimed.attempt, claimed.max_attempts, claimed.crashes) == (1, 2, 0)
    assert (claimed.priority, claimed.root_id, claimed.parent_id) == (3, job, None)
    assert (claimed.options, claimed.budget, claimed.key) == (
        {"timeout": 60},
        {"tokens": 5},
        "front",
    )
    shown = store.show(job)
    assert shown.state is State.RUNNING
    assert shown.worker_id == str(worker.id)
    assert shown.started_at is not None
    assert [(held.job, held.token) for held in store.held(worker.id)] == [(job, claimed.token)]


def test_the_highest_priority_goes_first_and_then_whose_turn_it_is(store: Store) -> None:
    """Over several queues and task names at once, and over negative priorities."""
    wanted: list[tuple[int, int]] = []
    for number, priority in enumerate([0, 5, -7, 5, 0, 32767, -32768, 5]):
        job = make_job(store, f"task{number % 3}", queue=f"queue{number % 2}", priority=priority)
        wanted.append((-priority, job))
    worker = make_worker(store)

    first, rest = worker.claim(3), worker.claim(10)

    assert ids(first) + ids(rest) == [job for _, job in sorted(wanted)]


def test_jobs_that_draw_from_a_pool_wait_their_turn_like_all_others(store: Store) -> None:
    store.create_pool("accounts", ["a", "b", "c"])
    jobs = [make_job(store, pools=pools) for pools in ((), ("accounts",), (), ("accounts",))]
    assert ids(make_worker(store).claim(2)) == jobs[:2]


def test_a_worker_gets_only_what_it_asks_for(store: Store) -> None:
    one = make_job(store, "crawl", queue="web")
    two = make_job(store, "parse", queue="web")
    three = make_job(store, "crawl", queue="mail")
    worker = make_worker(store)

    assert worker.claim(9, queues=["other"]) == ()
    assert worker.claim(9, queues=["web"], tasks=["mend"]) == ()
    assert ids(worker.claim(9, queues=["web"], tasks=["parse", "mend"])) == [two]
    assert ids(worker.claim(9, queues=["mail", "other"])) == [three]
    assert worker.claim(0) == ()
    assert ids(worker.claim(9, tasks=["crawl"])) == [one]


def test_no_job_is_claimed_twice(store: Store) -> None:
    jobs = store.enqueue_many(NewJob(task="work"), [{}] * 10)
    one, two = make_worker(store), make_worker(store)
    claimed = [*ids(one.claim(4)), *ids(two.claim(4)), *ids(one.claim(4)), *ids(two.claim(4))]
    assert sorted(claimed) == sorted(jobs)


def test_nothing_is_claimed_that_is_not_ready(store: Store) -> None:
    """A job that waits for its time, for another, for its tasks, or to be queued."""
    first = make_job(store)
    make_job(store, delay=timedelta(hours=1))
    make_job(store, run_at=NEVER)
    make_job(store, after=[first])
    make_job(store, None)
    promote(store)
    assert ids(make_worker(store).claim(10)) == [first]


@pytest.mark.parametrize(("subject", "name"), [("queue", "default"), ("tenant", "")])
def test_nothing_is_claimed_from_what_is_paused(
    store: Store, subject: Literal["queue", "tenant"], name: str
) -> None:
    job, other = make_job(store), make_job(store, queue="other")
    worker = make_worker(store)
    store.pause_dispatch(subject, name)

    assert ids(worker.claim(9)) == ([other] if subject == "queue" else [])
    store.resume_dispatch(subject, name)
    assert job in ids(worker.claim(9))


def kill(sql: psycopg.Connection) -> None:
    sql.execute("UPDATE tenure.worker SET expires_at = now() - interval '1s', dead_at = now()")


def expire(sql: psycopg.Connection) -> None:
    sql.execute("UPDATE tenure.worker SET expires_at = now() - interval '1s'")


@pytest.mark.parametrize(("end", "alive"), [(kill, False), (expire, True)], ids=["dead", "expired"])
def test_a_worker_that_is_dead_or_beyond_its_lease_claims_nothing(
    store: Store, sql: psycopg.Connection, end: Any, alive: bool
) -> None:
    job = make_job(store)
    worker = make_worker(store)
    end(sql)

    claim = store.claim(worker.id, 1)

    assert (claim.jobs, claim.alive) == ((), alive)
    store.renew(worker.id)
    assert ids(worker.claim()) == ([job] if alive else [])


def test_a_draining_a_departed_and_an_unknown_worker_claim_nothing(store: Store) -> None:
    make_job(store)
    draining, gone = make_worker(store), make_worker(store)
    store.drain(draining.id)
    store.leave(gone.id)

    assert draining.claim() == ()
    assert gone.claim() == ()
    assert Worker(store, uuid4()).claim() == ()


def test_a_worker_is_told_that_it_is_dead_only_when_it_is(store: Store, connect: Connect) -> None:
    worker = make_worker(store)
    other = connect()
    other.execute("SELECT FROM tenure.worker FOR UPDATE")
    assert store.claim(worker.id, 1).alive


def test_what_another_has_locked_is_passed_over(store: Store, connect: Connect) -> None:
    locked, free = make_job(store), make_job(store)
    elsewhere = make_job(store, "other")
    other = connect()
    other.execute("SELECT FROM tenure.job WHERE id = %s FOR UPDATE", (locked,))
    worker = make_worker(store)

    assert ids(worker.claim(9)) == [free, elsewhere]
    other.rollback()
    assert ids(worker.claim(9)) == [locked]


@pytest.mark.parametrize("verb", ["renew", "drain"])
def test_a_claim_does_not_wait_for_who_is_at_the_workers_row(
    store: Store, connect: Connect, verb: str
) -> None:
    job = make_job(store)
    worker = make_worker(store)
    other, claimer = connect(), connect()
    other.execute(f"SELECT tenure.{verb}(%s)".encode(), (worker.id,))

    claimer.execute(HURRY)
    claimer.execute("SELECT tenure.claim(%s, 5)", (worker.id,))
    claimer.commit()

    assert store.show(job).state is State.RUNNING


def test_a_job_takes_one_slot_of_each_pool_and_no_more_jobs_run_than_there_are_slots(
    store: Store,
) -> None:
    store.create_pool("trees", ["t1", "t2"])
    store.create_pool("accounts", ["a1"])
    jobs = [make_job(store, pools=["trees", "accounts"]) for _ in range(2)]
    jobs.append(make_job(store, pools=["trees"]))
    plain = make_job(store)
    worker = make_worker(store)

    claimed = {job.id: job for job in worker.claim(9)}

    assert sorted(claimed) == [jobs[0], jobs[2], plain]
    slots = claimed[jobs[0]].slots or {}
    assert set(slots) == {"trees", "accounts"}
    assert claimed[plain].slots is None
    assert store.show(jobs[0]).slots == ("accounts/a1", f"trees/{slots['trees']}")
    worker.finish(claimed[jobs[2]])
    assert worker.claim(9) == ()  # a tree is free, but no account
    worker.finish(claimed[jobs[0]])
    assert ids(worker.claim(9)) == [jobs[1]]


def test_a_pool_without_slots_lets_no_job_start_until_one_is_added(store: Store) -> None:
    store.create_pool("trees")
    job = make_job(store, pools=["trees"])
    worker = make_worker(store)
    assert worker.claim() == ()
    store.change_slots("trees", add=["t1"])
    assert worker.claim_one().id == job


def test_floors_hide_nothing_that_arrives_later(store: Store) -> None:
    """Of any priority, and in any lane: new ones, and those the floors know."""
    make_job(store, priority=1)
    worker = make_worker(store)
    claim = store.claim(worker.id, 1)
    expected = [
        make_job(store, task, priority=priority)
        for priority in (9, 1, 0, -9)
        for task in ("work", "other")
    ]

    found: list[int] = []
    for _ in expected:
        claim = store.claim(worker.id, 1, floors=claim.floors)
        found += ids(claim.jobs)

    assert found == expected


def test_a_job_below_the_floors_is_found_by_a_claim_without_them(store: Store) -> None:
    jobs = [make_job(store) for _ in range(3)]
    worker = make_worker(store)
    first = store.claim(worker.id, 2)
    worker.release(first.jobs[0])  # it keeps its turn, which is below the floor now

    second = store.claim(worker.id, 5, floors=first.floors)
    third = store.claim(worker.id, 5)

    assert sorted(ids(second.jobs) + ids(third.jobs)) == [jobs[0], jobs[2]]
    assert ids(third.jobs) in ([], [jobs[0]])


def test_a_job_that_came_back_is_tried_with_its_checkpoint_and_its_count(
    store: Store, clock: Clock
) -> None:
    job = make_job(store)
    worker = make_worker(store, timedelta(hours=2))
    worker.crash(worker.claim_one())
    promote(store)
    again = worker.claim_one()
    assert (again.id, again.attempt, again.crashes) == (job, 2, 1)


def test_a_claim_that_found_less_than_it_asked_for_makes_the_worker_idle(
    store: Store, sql: psycopg.Connection
) -> None:
    make_job(store)
    make_job(store)
    worker = make_worker(store)

    def idle() -> bool:
        row = sql.execute("SELECT idle FROM tenure.worker").fetchone()
        return bool(row and row[0])

    worker.claim(1)
    assert not idle()
    worker.claim(2)
    assert idle()
    make_job(store)
    worker.claim(1)
    assert not idle()
