"""Guards that no other test stands behind."""

from datetime import timedelta

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, State
from tenure.errors import IllegalTransition
from tenure.store.calls import enqueue_calls, worker_calls
from tenure.store.drivers import send_on
from tenure.store.outcomes import Report
from tenure.store.store import Store
from tenure.testing import Clock
from tests.conftest import Connect
from tests.factories import make_job, make_jobs, make_worker, promote


def test_a_job_without_code_and_without_tasks_waits_for_its_tasks(
    store: Store, sql: psycopg.Connection
) -> None:
    (job,) = store.enqueue(NewJob(task=None, key="whole"))
    sql.execute("INSERT INTO tenure.wake (job_id) VALUES (%s)", (job.id,))
    promote(store)
    assert store.show(job.id).state is State.PENDING


@pytest.mark.parametrize("verb", ["enqueue", "enqueue_many"])
def test_arguments_that_are_too_large_are_refused_also_from_plain_sql(
    sql: psycopg.Connection, verb: str
) -> None:
    # Not of one letter: what is compressed is not too large.
    text = "(SELECT string_agg(md5(n::text), '') FROM generate_series(1, 40000) AS n)"
    args = f"jsonb_build_object('text', {text})"
    call = {
        "enqueue": f"tenure.enqueue(jsonb_build_object('task', 'work', 'args', {args}))",
        "enqueue_many": f'tenure.enqueue_many(jsonb_build_array({args}), \'{{"task": "work"}}\')',
    }[verb]
    with pytest.raises(psycopg.Error, match="bytes; the maximum is 1048576"):
        sql.execute(f"SELECT {call}".encode())


@pytest.mark.parametrize("args", ["[1, 2]", "3", '"text"'])
def test_arguments_that_are_no_object_are_refused_also_from_plain_sql(
    sql: psycopg.Connection, args: str
) -> None:
    with pytest.raises(psycopg.Error, match="not a JSON object"):
        sql.execute(
            "SELECT tenure.enqueue(jsonb_build_object('task', 'work', 'args', %s::jsonb))", (args,)
        )


def test_an_ending_beside_a_report_in_flight_is_busy(store: Store, connect: Connect) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    beside = connect()
    report = Report(job=job.id, token=job.token, checkpoint={"page": 2})
    assert send_on(beside, worker_calls.report(worker.id, [report])).accepted == (job.id,)

    assert worker.finish(job).busy == (job.id,)
    beside.commit()
    assert worker.finish(job).accepted == {job.id: State.COMPLETED}


def test_a_claim_looks_behind_what_another_has_locked(store: Store, connect: Connect) -> None:
    jobs = [make_job(store, f"task{number % 2}") for number in range(10)]
    beside = connect()
    claim = send_on(beside, worker_calls.claim(make_worker(store).id, 9))
    assert [job.id for job in claim.jobs] == jobs[:9]

    assert make_worker(store).claim_one().id == jobs[9]


def test_a_held_slot_is_given_to_no_second_job(store: Store) -> None:
    store.create_pool("tree", ["a", "b"])
    jobs = [make_job(store, pools=["tree"]) for _ in range(3)]
    worker = make_worker(store)

    first = worker.claim_one()
    (second,) = worker.claim(3)
    assert [first.id, second.id] == jobs[:2]
    assert [slot.job_id for slot in store.pools()[0].slots] == jobs[:2]


def test_a_job_that_was_started_once_is_not_stale(store: Store, clock: Clock) -> None:
    job = make_job(store)
    worker = make_worker(store)
    worker.release(worker.claim_one())
    clock.advance(timedelta(hours=1))

    assert store.recover(pending_after=timedelta(minutes=5)).stale == ()
    assert store.show(job).state is State.PENDING


def test_a_job_is_kept_while_something_below_it_lives(store: Store, clock: Clock) -> None:
    parent = make_job(store)
    worker = make_worker(store)
    running = worker.claim_one()
    child = make_job(store, parent=parent)
    worker.finish(running)
    clock.advance(timedelta(days=10))

    assert store.prune({State.COMPLETED: timedelta(days=1)}).jobs == 0
    assert store.show(child).state is State.PENDING


def test_a_promote_leaves_a_target_to_the_one_that_looks_at_it(
    store: Store, connect: Connect
) -> None:
    first = make_job(store, target="site")
    one, other = connect(), connect()
    send_on(one, enqueue_calls.promote())
    urgent = make_job(store, target="site", priority=9)

    other.execute("SET lock_timeout = '5s'")
    send_on(other, enqueue_calls.promote())
    other.commit()
    one.commit()
    promote(store)

    worker = make_worker(store)
    (running,) = worker.claim(2)
    assert running.id == first
    worker.finish(running)
    promote(store)
    assert worker.claim_one().id == urgent


def test_a_wake_that_found_its_target_looked_at_is_not_lost(store: Store, connect: Connect) -> None:
    make_job(store, target="site")
    promote(store)
    worker = make_worker(store)
    running = worker.claim_one()
    behind = make_job(store, target="site")
    one = connect()
    send_on(one, enqueue_calls.promote())  # sees that the target is taken

    worker.finish(running)
    store.promote()
    one.commit()
    promote(store)

    assert worker.claim_one().id == behind


def test_a_job_without_code_is_open_while_a_task_of_it_runs_or_is_paused(store: Store) -> None:
    tasks = [NewJob(task="work", key=key, parent="whole") for key in "ab"]
    whole = make_jobs(store, [NewJob(task=None, key="whole"), *tasks])["whole"]
    worker = make_worker(store)
    first, second = worker.claim(2)
    worker.finish(first)
    promote(store)
    assert store.show(whole).state is State.PENDING

    worker.finish(second, "stopped", intent=Intent.PAUSE)
    promote(store)
    assert store.show(whole).state is State.PENDING


def test_what_is_queued_is_not_queued_again(store: Store) -> None:
    for job in (make_job(store), make_job(store, delay=timedelta(hours=1))):
        with pytest.raises(IllegalTransition, match="cannot queue"):
            store.queue(job)


def test_a_dead_worker_that_asks_for_jobs_hears_that_it_is_dead(store: Store) -> None:
    make_job(store)
    worker = make_worker(store)
    store.leave(worker.id)
    claim = store.claim(worker.id, 1)
    assert (claim.alive, claim.jobs) == (False, ())
