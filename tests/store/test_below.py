"""What lives below a job: the job is never over before it."""

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, State, Status
from tenure.errors import IllegalTransition
from tenure.store.store import Store
from tests.factories import end_as_stopped, make_job, make_jobs, make_worker, promote

ERROR = {"type": "ValueError", "message": "no"}


def test_a_job_without_code_waits_for_everything_below_it(store: Store) -> None:
    ids = make_jobs(store, [NewJob(key="root"), NewJob(key="a", task="work", parent="root")])
    worker = make_worker(store)
    child = worker.claim_one()
    make_job(store, parent=child.id)
    promote(store)
    grandchild = worker.claim_one()
    worker.finish(child)
    promote(store)
    assert store.show(ids["root"]).status is Status.WAITING
    worker.finish(grandchild)
    promote(store)
    assert store.show(ids["root"]).state is State.COMPLETED


def test_a_failed_job_is_not_cleared_while_something_below_it_lives(store: Store) -> None:
    worker = make_worker(store)
    parent = make_job(store)
    running = worker.claim_one()
    child = make_job(store, parent=parent)
    promote(store)
    worker.finish(running, "failed", error=ERROR)
    with pytest.raises(IllegalTransition, match="while something below it is not over"):
        store.clear(parent)
    assert store.show(parent).state is State.FAILED
    store.stop(child)
    store.clear(parent)
    assert store.show(parent).state is State.CANCELLED


def test_a_paused_job_is_cancelling_while_something_below_it_runs(store: Store) -> None:
    worker = make_worker(store)
    parent = make_job(store)
    running = worker.claim_one()
    make_job(store, parent=parent)
    promote(store)
    child = worker.claim_one()
    worker.finish(running, "stopped", intent=Intent.PAUSE)
    assert store.show(parent).status is Status.PAUSED
    store.stop(parent)
    assert store.show(parent).status is Status.CANCELLING
    with pytest.raises(IllegalTransition, match="cannot resume a job that is cancelling"):
        store.resume(parent)
    end_as_stopped(worker, child)
    promote(store)
    assert store.show(parent).state is State.CANCELLED


def test_a_child_said_again_after_its_parents_end_is_answered(store: Store) -> None:
    worker = make_worker(store)
    parent = make_job(store)
    running = worker.claim_one()
    child = NewJob(task="work", parent=parent, idempotency="once")
    (first,) = store.enqueue(child)
    worker.finish(running)
    (again,) = store.enqueue(child)
    assert (again.id, again.created, again.taken) == (first.id, False, "idempotency")


def test_a_job_is_not_replaced_while_something_below_it_runs(store: Store) -> None:
    old, _ = store.enqueue(
        [NewJob(key="top", unique="u"), NewJob(key="a", task="work", parent="top")]
    )
    promote(store)
    make_worker(store).claim_one()
    (answer,) = store.enqueue(NewJob(task="work", unique="u", when_taken="replace"))
    assert (answer.id, answer.created) == (old.id, False)
    assert store.show(old.id).status is Status.WAITING, "nothing was stopped for nothing"


def test_whoever_ends_an_attempt_says_which_worker_it_is(
    store: Store, sql: psycopg.Connection
) -> None:
    make_job(store)
    worker, stranger = make_worker(store), make_worker(store)
    job = worker.claim_one()
    outcome = {"job": job.id, "token": job.token, "outcome": "completed", "worker": str(worker.id)}
    for verb in ("finish", "crash", "release"):
        call = f"SELECT tenure.{verb}(%s, %s)".encode()
        with pytest.raises(psycopg.Error, match="the worker whose attempt ends must be given"):
            sql.execute(call, (None, Jsonb([outcome])))
        row = sql.execute(call, (stranger.id, Jsonb([outcome]))).fetchone()
        assert row is not None
        assert row[0]["refused"] == [job.id], "nobody speaks for another worker"
    assert store.show(job.id).state is State.RUNNING
