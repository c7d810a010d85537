"""rerun: a new job with the same arguments."""

import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.errors import JobNotFound
from tenure.store.store import Store
from tests.factories import make_job, make_job_in, make_worker, promote


@pytest.mark.parametrize("state", list(State))
def test_a_job_in_any_state_can_be_rerun_and_stays_as_it_is(store: Store, state: State) -> None:
    job = make_job_in(store, state)
    again = store.rerun(job)
    assert again.id != job
    assert again.state is State.PENDING
    assert store.show(job).state is state


def test_the_new_job_has_what_the_old_one_was_asked_for(store: Store) -> None:
    store.create_pool("tree", ["main"])
    (old,) = store.enqueue(
        NewJob(
            task="crawl",
            args={"site": "x", "nothing": None},
            queue="slow",
            priority=7,
            target="site:x",
            block_on=["failed"],
            owner="ann",
            max_attempts=2,
            orphan="fail",
            options={"timeout": "2h"},
            budget={"tokens": 5},
            pools=["tree"],
            tags=["a", "b"],
        )
    )
    before, after = store.show(old.id), store.rerun(old.id)
    for field in (
        "task",
        "args",
        "queue",
        "priority",
        "target",
        "owner",
        "max_attempts",
        "options",
        "budget",
        "tags",
    ):
        assert getattr(after, field) == getattr(before, field), field


def test_the_new_job_starts_from_nothing(store: Store) -> None:
    job = make_job(store)
    worker = make_worker(store)
    worker.crash(worker.claim_one())
    worker.finish(worker.claim_one(), "failed", error={"type": "E", "message": "no"})
    again = store.rerun(job)
    assert (again.attempt, again.crashes, again.error, again.checkpoint) == (0, 0, None, None)
    assert (again.started_at, again.completed_at, again.cancellation_id) == (None, None, None)
    promote(store)
    claimed = worker.claim_one()
    assert (claimed.id, claimed.attempt) == (again.id, 1)


def test_the_pools_and_the_policy_for_orphans_go_along(store: Store) -> None:
    store.create_pool("tree", ["main"])
    job = make_job(store, pools=["tree"], orphan="fail")
    store.stop(job)
    again = store.rerun(job)
    worker = make_worker(store)
    claimed = worker.claim_one()
    assert (claimed.id, claimed.slots) == (again.id, {"tree": "main"})
    store.leave(worker.id)
    assert [one.state for one in store.recover().recovered] == [State.FAILED]


def test_an_idempotency_key_does_not_stop_a_rerun(store: Store) -> None:
    job = make_job_in(store, State.COMPLETED, idempotency="once")
    assert store.rerun(job).id != job


def test_a_job_that_does_not_exist_cannot_be_rerun(store: Store) -> None:
    with pytest.raises(JobNotFound, match=r"^there is no job 4711$"):
        store.rerun(4711)


def test_a_cancelled_parent_is_no_hindrance(store: Store) -> None:
    root = make_job(store, task=None)
    child = make_job(store, parent=root)
    promote(store)
    store.stop(root)
    again = store.rerun(child)
    promote(store)
    assert make_worker(store).claim_one().id == again.id
