"""Guards that no other test stands behind."""

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.store.calls import working
from tenure.store.connections import send_on
from tenure.store.outcomes import Report
from tenure.store.store import Store
from tests.conftest import Connect
from tests.factories import make_job, make_worker, promote


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
    with pytest.raises(psycopg.Error, match="bytes; 1048576 is the most"):
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
    assert send_on(beside, working.report(worker.id, [report])).accepted == (job.id,)

    assert worker.finish(job).busy == (job.id,)
    beside.commit()
    assert worker.finish(job).accepted == {job.id: State.COMPLETED}


def test_a_claim_looks_behind_what_another_has_locked(store: Store, connect: Connect) -> None:
    jobs = [make_job(store, f"task{number % 2}") for number in range(10)]
    beside = connect()
    claim = send_on(beside, working.claim(make_worker(store).id, 9))
    assert [job.id for job in claim.jobs] == jobs[:9]

    assert make_worker(store).claim_one().id == jobs[9]


def test_a_held_slot_is_given_to_no_second_job(store: Store) -> None:
    store.create_pool("tree", ["main"])
    first, _ = make_job(store, pools=["tree"]), make_job(store, pools=["tree"])
    worker = make_worker(store)

    assert worker.claim_one().id == first
    assert worker.claim() == ()
    assert store.pools()[0].slots[0].job_id == first
