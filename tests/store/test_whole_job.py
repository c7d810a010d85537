"""A whole job in one call: the job, its tasks and their dependencies by key; and how it ends."""

from typing import Any

import psycopg
import pytest

from tenure.domain.job import After, NewJob
from tenure.domain.lifecycle import Intent, Reason, State, Status
from tenure.store.results import Claimed
from tenure.store.store import Store
from tests.factories import Worker, make_job, make_jobs, make_worker, promote

NO = {"type": "ValueError", "message": "no"}

PIPELINE = [
    NewJob(key="job"),
    NewJob(key="crawl", task="crawl", parent="job"),
    NewJob(key="chunk", task="chunk", parent="job", after=["crawl"]),
    NewJob(key="embed", task="embed", parent="job", after=["chunk"]),
    NewJob(key="notify", task="notify", parent="job", after=["crawl", After("embed", "run")]),
]


def next_of(store: Store, worker: Worker) -> list[Claimed]:
    promote(store)
    return list(worker.claim(50))


def states(store: Store, ids: dict[str, int] | Any) -> dict[str, State]:
    return {key: store.show(job).state for key, job in ids.items()}


def test_tasks_run_in_the_order_of_their_dependencies_and_then_the_job_is_completed(
    store: Store,
) -> None:
    ids = make_jobs(store, PIPELINE)
    worker = make_worker(store)
    ran = []
    while jobs := next_of(store, worker):
        ran.append([job.task for job in jobs])
        assert store.show(ids["job"]).status is Status.WAITING
        for job in jobs:
            worker.finish(job)
    assert ran == [["crawl"], ["chunk"], ["embed"], ["notify"]]
    whole = store.show(ids["job"])
    assert whole.state is State.COMPLETED
    assert whole.completed_at is not None
    assert {store.show(ids[key]).root_id for key in ids} == {ids["job"]}


def test_the_order_of_the_call_does_not_matter(store: Store) -> None:
    ids = make_jobs(store, PIPELINE[::-1])
    assert len(ids) == 5
    assert [job.id for job in make_worker(store).claim(9)] == [ids["crawl"]]
    assert {store.show(ids[key]).parent_id for key in ids if key != "job"} == {ids["job"]}


def test_all_of_a_whole_job_is_there_or_nothing(store: Store, sql: psycopg.Connection) -> None:
    with pytest.raises(Exception, match="no job of this call has the key"):
        store.enqueue([*PIPELINE, NewJob(task="work", parent="job", after=["nobody"])])
    assert sql.execute("SELECT count(*) FROM tenure.job").fetchone() == (0,)


@pytest.mark.parametrize(
    ("endings", "state"),
    [
        (["completed", "completed"], State.COMPLETED),
        (["failed", "completed"], State.FAILED),
        (["completed", "failed"], State.FAILED),
        (["failed", "cancelled"], State.FAILED),
        (["completed", "cancelled"], State.CANCELLED),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else str(value),
)
def test_a_job_without_code_ends_as_its_tasks_did(
    store: Store, endings: list[Any], state: State
) -> None:
    tasks = [NewJob(key=str(n), task="work", parent="job") for n in range(2)]
    ids = make_jobs(store, [NewJob(key="job"), *tasks])
    worker = make_worker(store)
    for outcome, job in zip(endings, worker.claim(2), strict=True):
        promote(store)
        assert store.show(ids["job"]).state is State.PENDING  # until the last one is over
        if outcome == "cancelled":
            store.stop(job.id)
            worker.finish(job, "stopped", heard=True)
        else:
            worker.finish(job, outcome, error=NO if outcome == "failed" else None)
    promote(store)
    assert store.show(ids["job"]).state is state
    message = store.show(ids["job"]).error_message
    assert (message is not None) == (state is State.FAILED)


def test_a_failed_task_leaves_its_dependents_waiting_and_so_the_job_open(store: Store) -> None:
    ids = make_jobs(store, PIPELINE[:3])
    worker = make_worker(store)
    worker.finish(worker.claim_one(), "failed", error=NO)
    promote(store)
    assert states(store, ids) == {
        "job": State.PENDING,
        "crawl": State.FAILED,
        "chunk": State.PENDING,
    }
    assert store.show(ids["chunk"]).waiting is Reason.DEPENDENCIES
    assert any(reason.reason == "tasks" for reason in store.explain(ids["job"]).reasons)


def test_a_failed_job_is_open_again_when_its_task_is_resumed_and_completes_with_it(
    store: Store,
) -> None:
    ids = make_jobs(store, PIPELINE[:2])
    worker = make_worker(store)
    worker.finish(worker.claim_one(), "failed", error=NO)
    promote(store)
    assert store.show(ids["job"]).state is State.FAILED
    store.resume(ids["crawl"])
    promote(store)
    assert store.show(ids["job"]).state is State.PENDING
    worker.finish(worker.claim_one())
    promote(store)
    assert store.show(ids["job"]).state is State.COMPLETED


def test_resuming_a_failed_job_without_code_resumes_its_failed_tasks(store: Store) -> None:
    ids = make_jobs(store, [*PIPELINE[:2], NewJob(key="good", task="work", parent="job")])
    worker = make_worker(store)
    bad, good = worker.claim(2)
    worker.finish(bad, "failed", error=NO)
    worker.finish(good)
    promote(store)
    store.resume(ids["job"])
    assert [job.id for job in next_of(store, worker)] == [ids["crawl"]]
    assert store.show(ids["good"]).state is State.COMPLETED


TREE = [
    NewJob(key="top"),
    NewJob(key="left", parent="top"),
    NewJob(key="right", parent="top", task="work"),
    NewJob(key="leaf", parent="left", task="work"),
    NewJob(key="twig", parent="leaf", task="work"),
]


def test_a_tree_completes_from_the_leaves_upwards(store: Store) -> None:
    ids = make_jobs(store, TREE)
    worker = make_worker(store)
    jobs = {job.id: job for job in worker.claim(9)}
    assert sorted(jobs) == sorted(ids[key] for key in ("right", "leaf", "twig"))
    worker.finish(jobs[ids["leaf"]])
    worker.finish(jobs[ids["twig"]])
    promote(store)
    assert store.show(ids["left"]).state is State.COMPLETED
    assert store.show(ids["top"]).state is State.PENDING
    worker.finish(jobs[ids["right"]])
    promote(store)
    assert set(states(store, ids).values()) == {State.COMPLETED}


def test_a_job_with_code_does_not_wait_for_its_children(store: Store) -> None:
    parent = make_job(store)
    child = make_job(store, parent=parent)
    worker = make_worker(store)
    worker.finish(worker.claim_one())
    promote(store)
    assert store.show(parent).state is State.COMPLETED
    assert worker.claim_one().id == child


def test_a_job_waiting_for_its_children_holds_no_worker_and_then_continues(
    store: Store,
) -> None:
    parent = make_job(store)
    worker = make_worker(store)
    claimed = worker.claim_one()
    child = make_job(store, parent=parent)
    worker.release(claimed, until="children")
    (only,) = next_of(store, worker)
    assert only.id == child
    assert store.show(parent).waiting is Reason.CHILDREN
    worker.finish(only, "failed", error=NO)
    (again,) = next_of(store, worker)
    assert (again.id, again.attempt) == (parent, 1)


def test_a_job_waiting_for_ended_children_continues_at_once(store: Store) -> None:
    parent = make_job(store)
    worker = make_worker(store)
    worker.release(worker.claim_one(), until="children")
    assert [job.id for job in next_of(store, worker)] == [parent]


@pytest.mark.parametrize("intent", list(Intent))
def test_a_stop_takes_the_whole_tree_and_says_so_only_when_nothing_of_it_runs(
    store: Store, intent: Intent
) -> None:
    ids = make_jobs(store, TREE)
    worker = make_worker(store)
    jobs = worker.claim(2)  # the third is pending
    end = State.CANCELLED if intent is Intent.CANCEL else State.PAUSED

    record = store.stop(ids["top"], intent=intent)
    promote(store)

    assert {ids["top"], *record.tasks_open} >= {job.id for job in jobs}
    assert store.show(ids["top"]).state is State.PENDING
    assert store.show(ids["top"]).cancel_requested
    for job in jobs:
        worker.finish(job, "stopped", heard=True)
    promote(store)
    assert set(states(store, ids).values()) == {end}
    record = store.cancellation(record.cancellation_id)
    assert record.status == "completed"
    assert sorted((ids["top"], *record.tasks_cancelled)) == sorted(ids.values())
    assert worker.claim(9) == ()


def test_a_tree_in_which_nothing_runs_is_stopped_at_once(store: Store) -> None:
    ids = make_jobs(store, TREE)
    store.stop(ids["top"])
    promote(store)
    assert set(states(store, ids).values()) == {State.CANCELLED}


def test_a_paused_tree_is_resumed_as_a_whole(store: Store) -> None:
    ids = make_jobs(store, TREE)
    store.stop(ids["top"], intent=Intent.PAUSE)
    promote(store)
    store.resume(ids["top"])
    worker = make_worker(store)
    for job in next_of(store, worker):
        worker.finish(job)
    promote(store)
    assert set(states(store, ids).values()) == {State.COMPLETED}


def test_a_thousand_pending_tasks_stop_in_one_call(store: Store) -> None:
    parent = make_job(store, None)
    store.enqueue_many(NewJob(task="work", parent=parent), [{}] * 1_000)
    record = store.stop(parent)
    assert record.status == "completed"
    assert len(record.tasks_cancelled) == 1_000
