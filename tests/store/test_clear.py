"""clear: a failed job is given up, and blocks nothing any more."""

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.errors import IllegalTransition, InputRefused, JobNotFound
from tenure.store.store import Store
from tests.factories import Worker, make_job, make_job_in, make_jobs, make_worker, promote

ERROR = {"type": "ValueError", "message": "no"}


def fail_one(worker: Worker) -> int:
    job = worker.claim_one()
    worker.finish(job, "failed", error=ERROR)
    return job.id


def test_a_failed_job_is_cancelled(store: Store) -> None:
    job = make_job_in(store, State.FAILED)
    assert store.clear(job) == {"cleared": [job]}
    seen = store.show(job)
    assert seen.state is State.CANCELLED
    assert seen.cancelled_at is not None
    assert seen.error_message == "no", "why it failed is still known"


@pytest.mark.parametrize("state", [state for state in State if state is not State.FAILED])
def test_every_other_state_refuses(store: Store, state: State) -> None:
    job = make_job_in(store, state)
    with pytest.raises(IllegalTransition, match=r"^cannot clear a job that is "):
        store.clear(job)
    assert store.show(job).state is state


def test_a_job_that_does_not_exist_cannot_be_cleared(store: Store) -> None:
    with pytest.raises(JobNotFound, match=r"^there is no job 4711$"):
        store.clear(4711)


def test_clear_takes_a_job_or_a_target(store: Store) -> None:
    job = make_job_in(store, State.FAILED, target="site:x")
    for wrong in ({}, {"job": job, "target": "site:x"}):
        with pytest.raises(InputRefused, match="a job or a target"):
            store.clear(**wrong)  # type: ignore[arg-type]
    assert store.show(job).state is State.FAILED


def test_the_target_is_free_for_the_next_in_line(store: Store) -> None:
    failed = make_job_in(store, State.FAILED, target="site:x")
    following = make_job(store, target="site:x")
    promote(store)
    worker = make_worker(store)
    assert worker.claim(10) == ()
    store.clear(failed)
    promote(store)
    assert worker.claim_one().id == following


def test_a_whole_target_is_cleared_and_no_other(store: Store) -> None:
    for target in ("site:x", "site:x", "site:y"):
        make_job(store, target=target, block_on=["paused"])
    worker = make_worker(store)
    failed = []
    for _ in range(3):
        promote(store)
        failed.append(fail_one(worker))
    assert [store.show(job).state for job in failed] == [State.FAILED] * 3
    of_x = [job for job in failed if store.show(job).target == "site:x"]
    assert sorted(store.clear(target="site:x")["cleared"]) == sorted(of_x)
    assert [store.show(job).state for job in of_x] == [State.CANCELLED] * 2
    (other,) = set(failed) - set(of_x)
    assert store.show(other).state is State.FAILED


def test_a_target_is_cleared_of_the_failed_only(store: Store, sql: psycopg.Connection) -> None:
    failed = make_job_in(store, State.FAILED, target="site:x")
    waiting = make_job(store, target="site:x")
    promote(store)
    assert store.clear(target="site:x") == {"cleared": [failed]}
    assert store.show(waiting).state is State.PENDING


def test_a_cleared_task_lets_the_job_above_it_end(store: Store) -> None:
    ids = make_jobs(
        store, [NewJob(key="root"), *(NewJob(key=k, task="work", parent="root") for k in "ab")]
    )
    worker = make_worker(store)
    failed = fail_one(worker)
    store.clear(failed)
    worker.finish(worker.claim_one())
    promote(store)
    assert store.show(ids["root"]).state is State.CANCELLED


def test_a_cleared_job_cannot_be_resumed(store: Store) -> None:
    job = make_job_in(store, State.FAILED)
    store.clear(job)
    with pytest.raises(IllegalTransition, match=r"^cannot resume a job that is cancelled$"):
        store.resume(job)
