"""stop with a rollback: a job that undoes, enqueued in the same transaction."""

from datetime import timedelta

import psycopg
import pytest

from tenure.domain.job import Job, NewJob
from tenure.domain.lifecycle import Intent, State
from tenure.errors import InputRefused
from tenure.store.calls.controlling import stop
from tenure.store.connections import send_on
from tenure.store.store import Store
from tests.conftest import Connect
from tests.factories import end_as_stopped, make_job, make_jobs, make_worker, promote


def rollbacks(store: Store) -> tuple[Job, ...]:
    return tuple(store.show(job.id) for job in store.list_jobs({"task": "tenure.rollback"}))


def test_it_runs_when_the_cancelled_job_has_ended(store: Store) -> None:
    make_job(store, queue="far", owner="ann", priority=3)
    worker = make_worker(store)
    job = worker.claim_one()

    record = store.stop(job.id, rollback=True, by="bob")

    assert record.rollback
    (undo,) = rollbacks(store)
    assert undo.args == {"cancellation": record.cancellation_id}
    assert (undo.queue, undo.owner, undo.priority, undo.parent_id) == ("far", "ann", 3, None)
    promote(store)
    assert worker.claim() == ()
    (signal,) = store.renew(worker.id).signals
    assert signal.orders["rollback"] is True

    end_as_stopped(worker, job)
    promote(store)
    assert worker.claim_one().task == "tenure.rollback"
    assert store.cancellation(record.cancellation_id).rollback


def test_it_runs_whatever_the_job_became(store: Store) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    store.stop(job.id, rollback=True)
    assert worker.finish(job).accepted == {job.id: State.COMPLETED}
    promote(store)
    assert worker.claim_one().task == "tenure.rollback"


def test_what_has_not_started_is_undone_at_once(store: Store) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(key="root"),
            NewJob(key="a", task="work", parent="root"),
            NewJob(key="b", task="work", parent="root", after=["a"]),
        ],
    )
    worker = make_worker(store)
    worker.finish(worker.claim_one())
    promote(store)
    record = store.stop(ids["root"], rollback=True)
    promote(store)
    assert worker.claim_one().args == {"cancellation": record.cancellation_id}
    assert record.tasks_completed == (ids["a"],), "this is what there is to undo"


def test_a_plain_stop_enqueues_nothing(store: Store) -> None:
    record = store.stop(make_job(store))
    assert not record.rollback
    assert rollbacks(store) == ()


def test_asking_again_adds_it_once(store: Store) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    assert not store.stop(job.id).rollback
    for _ in range(2):
        assert store.stop(job.id, rollback=True).rollback
    assert store.stop(job.id).rollback
    assert len(rollbacks(store)) == 1
    (signal,) = store.renew(worker.id).signals
    assert signal.orders["rollback"] is True
    assert [row.verb for row in store.trail("job", str(job.id))] == ["rollback", "cancel"]


def test_a_pause_is_not_rolled_back(store: Store) -> None:
    job = make_job(store)
    with pytest.raises(InputRefused, match="a pause is not rolled back, because the job goes on"):
        store.stop(job, intent=Intent.PAUSE, rollback=True)
    assert store.cancellations() == ()
    assert rollbacks(store) == ()


def test_no_stop_no_rollback(store: Store, connect: Connect) -> None:
    job, caller = make_job(store), connect()
    send_on(caller, stop(job, rollback=True))
    caller.rollback()
    assert rollbacks(store) == ()
    assert store.show(job).state is State.PENDING


def test_how_long_to_ask_is_told_to_the_worker(store: Store) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    record = store.stop(job.id, ask_for=timedelta(seconds=5))
    assert record.ask_for == 5
    (signal,) = store.renew(worker.id).signals
    assert signal.orders["ask_for"] == 5


def test_a_negative_time_to_ask_is_refused(store: Store, sql: psycopg.Connection) -> None:
    with pytest.raises(InputRefused, match="zero or more"):
        store.stop(make_job(store), ask_for=timedelta(seconds=-1))
