"""resume: a paused or failed job continues."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, State, Status
from tenure.errors import IllegalTransition, InputRefused, JobNotFound, KeyTaken
from tenure.store.outcomes import Report
from tenure.store.results import Claimed
from tenure.store.store import Store
from tests.factories import (
    Worker,
    end_as_stopped,
    make_job,
    make_job_in,
    make_jobs,
    make_worker,
    promote,
)

ERROR = {"type": "ValueError", "message": "no"}


def start(store: Store, **fields: Any) -> tuple[Worker, Claimed]:
    make_job(store, **fields)
    promote(store)
    worker = make_worker(store)
    return worker, worker.claim_one()


@pytest.mark.parametrize("state", [State.PAUSED, State.FAILED])
def test_a_paused_or_failed_job_can_run_again(store: Store, state: State) -> None:
    job = make_job_in(store, state)
    resumed = store.resume(job)
    assert (resumed.id, resumed.state, resumed.status) == (job, State.PENDING, Status.QUEUED)
    assert make_worker(store).claim_one().id == job


@pytest.mark.parametrize("state", [State.PENDING, State.RUNNING, State.COMPLETED, State.CANCELLED])
def test_every_other_state_refuses(store: Store, state: State) -> None:
    job = make_job_in(store, state)
    with pytest.raises(IllegalTransition, match=r"^cannot resume a job that is "):
        store.resume(job)
    assert store.show(job).state is state


def test_a_job_that_does_not_exist_cannot_be_resumed(store: Store) -> None:
    with pytest.raises(JobNotFound, match=r"^there is no job 4711$"):
        store.resume(4711)


def test_a_job_that_is_still_pausing_cannot_be_resumed(store: Store) -> None:
    _, job = start(store)
    store.stop(job.id, intent=Intent.PAUSE)
    with pytest.raises(IllegalTransition, match=r"^cannot resume a job that is pausing$"):
        store.resume(job.id)


def test_error_crashes_and_attempts_are_forgotten(store: Store) -> None:
    worker, job = start(store, max_attempts=2)
    worker.crash(job)
    worker.crash(worker.claim_one())
    failed = store.show(job.id)
    assert (failed.state, failed.crashes, failed.attempt) == (State.FAILED, 2, 2)
    assert failed.error_message
    resumed = store.resume(job.id)
    assert (resumed.crashes, resumed.attempt, resumed.retry_count) == (0, 0, 0)
    assert (resumed.error, resumed.error_message, resumed.completed_at) == (None, None, None)
    again = worker.claim_one()
    assert (again.attempt, again.max_attempts, again.crashes) == (1, 2, 0)
    assert worker.finish(again, "retry", error=ERROR).accepted == {job.id: State.PENDING}


def test_the_stop_is_forgotten(store: Store) -> None:
    worker, job = start(store)
    store.stop(job.id, intent=Intent.PAUSE)
    end_as_stopped(worker, job)
    resumed = store.resume(job.id)
    assert (resumed.cancel_requested, resumed.cancellation_id, resumed.cancelled_by) == (
        False,
        None,
        None,
    )
    again = worker.claim_one()
    assert store.renew(worker.id).signals == ()
    assert again.token != job.token
    assert worker.finish(again, value=1).accepted == {job.id: State.COMPLETED}


@pytest.mark.parametrize(("fresh", "left"), [(False, {"page": 7}), (True, None)])
def test_the_checkpoint_is_kept_unless_a_fresh_start_is_wanted(
    store: Store, fresh: bool, left: Any
) -> None:
    worker, job = start(store)
    store.report(worker.id, [Report(job=job.id, token=job.token, checkpoint={"page": 7})])
    worker.finish(job, "failed", error=ERROR)
    store.resume(job.id, fresh=fresh)
    assert worker.claim_one().checkpoint == left


def test_partial_results_survive_a_fresh_start(store: Store) -> None:
    worker, job = start(store)
    store.report(worker.id, [Report(job=job.id, token=job.token, partials=["a"])])
    worker.finish(job, "failed", error=ERROR)
    store.resume(job.id, fresh=True)
    assert [partial["value"] for partial in store.job_output(job.id, "partials")] == ["a"]


@pytest.mark.parametrize("ending", ["paused", "failed"])
def test_a_job_keeps_its_place_in_its_target(store: Store, ending: str) -> None:
    worker, job = start(store, target="site:x")
    rival = make_job(store, target="site:x", priority=100)
    if ending == "paused":
        store.stop(job.id, intent=Intent.PAUSE)
        end_as_stopped(worker, job)
    else:
        worker.finish(job, "failed", error=ERROR)
    store.resume(job.id)
    promote(store)
    again = worker.claim_one()
    assert again.id == job.id
    assert worker.claim(10) == ()
    worker.finish(again)
    promote(store)
    assert worker.claim_one().id == rival


@pytest.mark.parametrize("ending", ["paused", "failed"])
def test_a_job_that_holds_its_target_is_ready_at_once(store: Store, ending: str) -> None:
    worker, job = start(store, target="site:x")
    if ending == "paused":
        store.stop(job.id, intent=Intent.PAUSE)
        end_as_stopped(worker, job)
    else:
        worker.finish(job, "failed", error=ERROR)
    assert store.resume(job.id).status is Status.QUEUED
    assert worker.claim_one().id == job.id, "nobody has to promote it"


def test_a_child_is_ready_at_once(store: Store) -> None:
    ids = make_jobs(store, [NewJob(key="root"), NewJob(key="a", task="work", parent="root")])
    worker = make_worker(store)
    job = worker.claim_one()
    worker.finish(job, "failed", error=ERROR)
    promote(store)
    assert store.resume(ids["a"]).status is Status.QUEUED


def test_a_job_that_has_spent_its_budget_continues_with_a_larger_budget(store: Store) -> None:
    worker, job = start(store, budget={"tokens": 10, "pages": 5})
    store.report(worker.id, [Report(job=job.id, token=job.token, spent={"tokens": 12})])
    worker.finish(job, "failed", error=ERROR)
    refusal = r"^cannot resume job 1: budget of 1[01] tokens exceeded: 12 spent; resume it with"
    for budget in (None, {"tokens": 11}, {"pages": 100}):
        with pytest.raises(IllegalTransition, match=refusal):
            store.resume(job.id, budget=budget)
    assert store.show(job.id).budget == {"tokens": 10, "pages": 5}, "a refusal changes nothing"
    with pytest.raises(InputRefused, match="with limits of zero or more"):
        store.resume(job.id, budget={"tokens": -1})
    resumed = store.resume(job.id, budget={"tokens": 50})
    assert (resumed.status, resumed.budget) == (Status.QUEUED, {"tokens": 50, "pages": 5})


def test_a_paused_job_behind_the_head_no_longer_closes_the_target(store: Store) -> None:
    first, second = (make_job(store, target="site:x") for _ in range(2))
    promote(store)
    store.stop(second, intent=Intent.PAUSE)
    worker = make_worker(store)
    worker.finish(worker.claim_one())
    promote(store)
    assert worker.claim(10) == ()
    store.resume(second)
    promote(store)
    assert worker.claim_one().id == second
    assert store.show(first).state is State.COMPLETED


def test_a_job_paused_before_its_time_waits_for_it(store: Store) -> None:
    job = make_job(store, delay=timedelta(hours=1))
    store.stop(job, intent=Intent.PAUSE)
    assert store.resume(job).status is Status.SCHEDULED
    assert make_worker(store).claim(10) == ()


def test_a_job_paused_before_its_dependency_waits_for_it(store: Store) -> None:
    ids = make_jobs(
        store, [NewJob(key="a", task="work"), NewJob(key="b", task="work", after=["a"])]
    )
    store.stop(ids["b"], intent=Intent.PAUSE)
    store.resume(ids["b"])
    promote(store)
    worker = make_worker(store)
    first = worker.claim_one()
    assert first.id == ids["a"]
    assert worker.claim(10) == ()
    worker.finish(first)
    promote(store)
    assert worker.claim_one().id == ids["b"]


def test_a_paused_tree_is_resumed_with_its_root(store: Store) -> None:
    ids = make_jobs(
        store, [NewJob(key="root"), *(NewJob(key=k, task="work", parent="root") for k in "abc")]
    )
    store.stop(ids["c"], intent=Intent.PAUSE)
    store.stop(ids["root"], intent=Intent.PAUSE)
    store.resume(ids["root"])
    promote(store)
    worker = make_worker(store)
    assert {job.id for job in worker.claim(10)} == {ids["a"], ids["b"]}
    assert store.show(ids["c"]).state is State.PAUSED, "it was paused by itself, and stays so"


def test_a_task_below_a_paused_job_cannot_go_on_alone(store: Store) -> None:
    ids = make_jobs(store, [NewJob(key="root"), NewJob(key="a", task="work", parent="root")])
    store.stop(ids["root"], intent=Intent.PAUSE)
    with pytest.raises(IllegalTransition, match=f"below job {ids['root']}, which is paused"):
        store.resume(ids["a"])
    assert store.show(ids["a"]).state is State.PAUSED


def test_resuming_a_failed_task_opens_the_failed_job_above_it(store: Store) -> None:
    ids = make_jobs(store, [NewJob(key="root"), NewJob(key="a", task="work", parent="root")])
    worker = make_worker(store)
    worker.finish(worker.claim_one(), "failed", error=ERROR)
    promote(store)
    assert store.show(ids["root"]).state is State.FAILED
    store.resume(ids["a"])
    promote(store)
    root = store.show(ids["root"])
    assert (root.state, root.completed_at) == (State.PENDING, None)
    assert root.error_message is None, "what is open again has not failed"
    worker.finish(worker.claim_one())
    promote(store)
    assert store.show(ids["root"]).state is State.COMPLETED


def test_resuming_a_failed_job_without_code_resumes_its_failed_tasks(store: Store) -> None:
    ids = make_jobs(
        store, [NewJob(key="root"), *(NewJob(key=k, task="work", parent="root") for k in "ab")]
    )
    worker = make_worker(store)
    good, bad = worker.claim(2)
    worker.finish(good)
    worker.finish(bad, "failed", error=ERROR)
    promote(store)
    store.resume(ids["root"])
    promote(store)
    assert [job.id for job in worker.claim(10)] == [bad.id]
    assert store.show(good.id).state is State.COMPLETED


def test_a_unique_key_taken_in_the_meantime_is_not_held_twice(store: Store) -> None:
    failed = make_job_in(store, State.FAILED, unique="k")
    newer = make_job(store, unique="k")
    with pytest.raises(KeyTaken, match=f"^job {newer} has taken the unique key"):
        store.resume(failed)
    assert store.show(failed).state is State.FAILED


def test_two_who_resume_make_one_run(store: Store, sql: psycopg.Connection) -> None:
    job = make_job_in(store, State.PAUSED)
    store.resume(job)
    with pytest.raises(IllegalTransition, match=r"^cannot resume a job that is queued$"):
        store.resume(job)
    assert len(make_worker(store).claim(10)) == 1
