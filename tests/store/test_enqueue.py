"""enqueue: one job or many, with all one can ask for, in the caller's own transaction."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tenure.domain.job import NEVER, After, NewJob
from tenure.domain.lifecycle import Reason, State, Status
from tenure.store.calls import enqueue_calls
from tenure.store.drivers import send_on
from tenure.store.store import Store
from tenure.testing import Clock
from tests.conftest import Connect
from tests.factories import make_job, make_worker, promote

LATER = datetime.now(UTC) + timedelta(days=1)


def count(sql: psycopg.Connection, table: str = "job") -> int:
    (number,) = sql.execute(f"SELECT count(*) FROM tenure.{table}".encode()).fetchone() or (0,)
    return int(number)


def test_a_job_is_ready_at_once_with_the_defaults_of_the_house(store: Store) -> None:
    (answer,) = store.enqueue(NewJob(task="crawl"))

    assert answer.created
    assert answer.taken is None
    job = store.show(answer.id)
    assert (job.state, job.status, job.waiting) == (State.PENDING, Status.QUEUED, None)
    assert (job.queue, job.task, job.priority, job.args) == ("default", "crawl", 0, {})
    assert (job.attempt, job.max_attempts, job.max_retries) == (0, 4, 3)
    assert (job.root_id, job.parent_id, job.worker_id) == (job.id, None, None)
    assert job.owner.startswith("db:")
    assert make_worker(store).claim_one().id == job.id


def test_what_is_asked_for_is_kept(store: Store) -> None:
    asked: dict[str, Any] = {
        "args": {"site": "exämple.org", "pages": [1, 2.5, None, {"deep": True}]},
        "queue": "crawl",
        "key": "front page",
        "priority": -5,
        "owner": "anna",
        "target": "site:1",
        "max_attempts": 7,
        "options": {"timeout": 7200, "grace": 20},
        "budget": {"tokens": 50000, "money": 1.5},
        "tags": ("night", "slow"),
    }
    job = store.show(make_job(store, "crawl", run_at=LATER, **asked))
    assert {name: getattr(job, name) for name in asked} == asked
    assert job.run_at == LATER


def test_a_delay_counts_from_the_clock_of_the_database(
    store: Store, clock: Clock, sql: psycopg.Connection
) -> None:
    clock.advance(timedelta(days=30))
    job = store.show(make_job(store, delay=timedelta(minutes=5)))
    assert job.status is Status.SCHEDULED
    assert job.run_at == job.created_at + timedelta(minutes=5)
    assert job.created_at > datetime.now(UTC) + timedelta(days=29)


def test_a_time_that_has_passed_is_now(store: Store) -> None:
    job = make_job(store, run_at=datetime(2001, 1, 1, tzinfo=UTC))
    assert make_worker(store).claim_one().id == job


def test_a_job_that_is_never_due_is_pending_until_it_is_queued(store: Store) -> None:
    job = make_job(store, run_at=NEVER)
    shown = store.show(job)
    assert (shown.status, shown.waiting, shown.run_at) == (Status.PENDING, Reason.UNQUEUED, None)
    assert store.queue(job, run_at=LATER).run_at == LATER
    promote(store)
    assert store.show(job).status is Status.SCHEDULED


def test_many_jobs_are_answered_in_the_order_they_were_named(store: Store) -> None:
    """Also when one stands before what it comes after."""
    answers = store.enqueue(
        [
            NewJob(key="last", task="work", after=["first"]),
            NewJob(key="first", task="work"),
            NewJob(key="alone", task="work"),
        ]
    )
    assert [answer.key for answer in answers] == ["last", "first", "alone"]
    for answer in answers:
        assert store.show(answer.id).key == answer.key


def test_nothing_is_a_fine_thing_to_enqueue(store: Store, sql: psycopg.Connection) -> None:
    assert store.enqueue([]) == ()
    assert store.enqueue_many(NewJob(task="work"), []) == ()
    assert count(sql) == 0


def test_an_edge_named_twice_is_one_edge(store: Store) -> None:
    first = make_job(store)
    job = make_job(store, after=[first, After(first, "fail")])
    assert [need["job_id"] for need in store.show(job).needs] == [first]


def test_a_child_knows_its_parent_and_its_root(store: Store) -> None:
    root = make_job(store)
    child = make_job(store, parent=root)
    grandchild = store.show(make_job(store, parent=child))
    assert (grandchild.parent_id, grandchild.root_id) == (child, root)
    worker = make_worker(store)
    promote(store)
    assert len(worker.claim(9)) == 3


def test_many_of_a_kind_share_all_but_their_arguments(store: Store) -> None:
    ids = store.enqueue_many(
        NewJob(task="crawl", queue="web", priority=3, max_attempts=2, tags=["night"]),
        [{"page": page} for page in range(3)],
    )
    jobs = [store.show(job) for job in ids]
    assert [job.args for job in jobs] == [{"page": 0}, {"page": 1}, {"page": 2}]
    assert {(job.queue, job.priority, job.max_attempts, job.tags) for job in jobs} == {
        ("web", 3, 2, ("night",))
    }
    assert [job.id for job in make_worker(store).claim(9)] == list(ids)


@pytest.mark.parametrize(
    ("shared", "reason"),
    [
        ({"delay": timedelta(hours=1)}, Reason.TIME),
        ({"run_at": NEVER}, Reason.UNQUEUED),
        ({"target": "site"}, Reason.TARGET),
    ],
    ids=["delay", "never", "target"],
)
def test_many_of_a_kind_wait_for_what_one_would_wait_for(
    store: Store, shared: dict[str, Any], reason: Reason
) -> None:
    ids = store.enqueue_many(NewJob(task="crawl", **shared), [{}, {}])
    assert [store.show(job).waiting for job in ids] == [reason, reason]


def test_many_below_a_parent_take_the_ordinary_way(store: Store) -> None:
    parent = make_job(store, None)
    ids = store.enqueue_many(NewJob(task="crawl", parent=parent), [{}, {}])
    assert [store.show(job).parent_id for job in ids] == [parent, parent]


def test_a_job_is_there_when_the_callers_transaction_commits_and_gone_when_it_does_not(
    store: Store, connect: Connect, sql: psycopg.Connection
) -> None:
    caller = connect()
    call = enqueue_calls.enqueue(NewJob(task="work", idempotency="once", target="site"))
    send_on(caller, call)
    assert count(sql) == 0
    caller.rollback()
    assert count(sql) == count(sql, "wake") == count(sql, "payload") == 0

    (answer,) = send_on(caller, call)
    assert answer.created
    caller.commit()
    promote(store)
    assert make_worker(store).claim_one().id == answer.id


def test_an_enqueue_waits_for_nobody_who_has_locked_what_it_names(
    store: Store, connect: Connect
) -> None:
    parent, need = make_job(store), make_job(store)
    store.create_pool("accounts", ["a"])
    make_job(store, target="site")
    holder, caller = connect(), connect()
    holder.execute("SELECT FROM tenure.job FOR UPDATE")
    holder.execute("SELECT FROM tenure.slot FOR UPDATE")

    caller.execute("SET lock_timeout = '50ms'")
    job = NewJob(task="work", parent=parent, after=[need], target="site", pools=["accounts"])
    (answer,) = send_on(caller, enqueue_calls.enqueue(job))
    caller.commit()

    assert answer.created


def test_an_enqueue_locks_no_row_that_was_there(store: Store, connect: Connect) -> None:
    parent, need = make_job(store), make_job(store)
    caller, other = connect(), connect()
    send_on(caller, enqueue_calls.enqueue(NewJob(task="work", parent=parent, after=[need])))
    locked = other.execute("SELECT id FROM tenure.job ORDER BY id FOR UPDATE NOWAIT").fetchall()
    assert locked == [(parent,), (need,)]


def test_a_job_enqueued_below_a_parent_that_is_stopped_meanwhile_goes_with_it(
    store: Store, connect: Connect
) -> None:
    parent = make_job(store, None)
    caller = connect()
    (child,) = send_on(caller, enqueue_calls.enqueue(NewJob(task="work", parent=parent)))
    store.stop(parent)
    caller.commit()
    promote(store)
    assert store.show(child.id).state is State.CANCELLED
    assert make_worker(store).claim() == ()


def test_a_job_can_be_enqueued_with_plain_sql(store: Store, sql: psycopg.Connection) -> None:
    draft = json.dumps({"task": "crawl", "args": {"site": "example.org"}, "after": []})
    row = sql.execute("SELECT tenure.enqueue(%s::jsonb)", (draft,)).fetchone()
    assert row is not None
    assert store.show(row[0][0]["id"]).args == {"site": "example.org"}


def test_idle_workers_are_told_and_busy_ones_are_not(store: Store, connect: Connect) -> None:
    idle, busy = make_worker(store), make_worker(store)
    idle.claim()
    listener = connect()
    listener.autocommit = True
    for channel in (f"tenure_{idle.id}", f"tenure_{busy.id}", "the_end"):
        listener.execute(f'LISTEN "{channel}"'.encode())
    make_job(store)
    listener.execute("NOTIFY the_end")  # notices come in the order of the commits
    heard = [notice.channel for notice in listener.notifies(timeout=5, stop_after=2)]
    assert heard == [f"tenure_{idle.id}", "the_end"]
