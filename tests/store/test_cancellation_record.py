"""The record of a stop: what was asked, how it went, and how it ends."""

import re
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tenure.domain.cancellation import CancellationRecord
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, Rung, State
from tenure.errors import IllegalTransition, InputRefused, NotFound
from tenure.store.outcomes import Artifact, Report
from tenure.store.results import Claimed
from tenure.store.store import Store
from tests.factories import (
    Worker,
    end_as_stopped,
    make_job,
    make_jobs,
    make_worker,
    promote,
)

STEPS = (
    "stop_assignment",
    "terminate_runners",
    "cancel_pending",
    "update_tasks",
    "release_slots",
    "preserve_artifacts",
)


def start(store: Store, **fields: Any) -> tuple[Worker, Claimed]:
    make_job(store, **fields)
    worker = make_worker(store)
    return worker, worker.claim_one()


def steps_of(record: CancellationRecord) -> dict[str, str]:
    return {step.step_name: step.status for step in record.progress}


def details_of(record: CancellationRecord) -> dict[str, Any]:
    return {step.step_name: step.details for step in record.progress}


def read(store: Store, record: CancellationRecord) -> CancellationRecord:
    promote(store)
    return store.cancellation(record.cancellation_id)


def test_a_record_says_what_was_asked(store: Store) -> None:
    ids = make_jobs(store, [NewJob(key="root"), NewJob(key="a", task="work", parent="root")])
    record = store.stop(
        ids["a"],
        reason="too dear",
        cascade=False,
        grace=timedelta(seconds=9),
        last_rung=Rung.TERMINATED,
        by="user:ann",
    )
    assert re.fullmatch(r"cancel-[0-9a-f]{6,}", record.cancellation_id)
    assert (record.job_id, record.task_id) == (ids["root"], ids["a"])
    assert (record.intent, record.reason, record.initiated_by) == (
        Intent.CANCEL,
        "too dear",
        "user:ann",
    )
    assert (record.force, record.cascade, record.grace) == (False, False, 9.0)
    assert record.last_rung is Rung.TERMINATED
    assert record.error is None
    assert record.completed_at is not None
    assert record.duration_seconds == pytest.approx(
        (record.completed_at - record.initiated_at).total_seconds(), abs=1e-3
    )


def test_a_record_of_a_whole_job_names_no_task(store: Store) -> None:
    job = make_job(store)
    record = store.stop(job)
    assert (record.job_id, record.task_id) == (job, None)


def test_a_record_moves_through_its_statuses(store: Store) -> None:
    worker, job = start(store)
    record = store.stop(job.id)
    assert (record.status, record.success, record.completed_at) == ("stopping_runners", False, None)
    assert tuple(steps_of(record)) == STEPS
    assert steps_of(record)["stop_assignment"] == "completed"
    assert steps_of(record)["terminate_runners"] == "in_progress"
    assert (record.job_became, record.tasks_open) == (None, ())
    end_as_stopped(worker, job)
    closed = read(store, record)
    assert (closed.status, closed.success, closed.tasks_open) == ("completed", True, ())
    assert set(steps_of(closed).values()) == {"completed"}
    for step in closed.progress:
        assert step.started_at is not None
        assert step.completed_at is not None
        assert step.started_at <= step.completed_at
        assert step.error is None
    assert details_of(closed)["terminate_runners"]["runners"] == 1


def test_a_record_is_open_until_the_last_of_its_members_has_ended(store: Store) -> None:
    ids = make_jobs(
        store,
        [NewJob(key="root"), *(NewJob(key=key, task="work", parent="root") for key in "ab")],
    )
    worker = make_worker(store)
    first, second = worker.claim(2)
    record = store.stop(ids["root"])
    end_as_stopped(worker, first)
    promote(store)
    left = read(store, record)
    assert (left.completed_at, left.tasks_cancelled) == (None, (first.id,))
    end_as_stopped(worker, second)
    promote(store)
    assert read(store, record).status == "completed"


def test_what_was_completed_before_is_told_from_what_was_cancelled(store: Store) -> None:
    ids = make_jobs(
        store,
        [NewJob(key="root"), *(NewJob(key=key, task="work", parent="root") for key in "abc")],
    )
    worker = make_worker(store)
    done, runs = worker.claim(2)
    worker.finish(done)
    record = store.stop(ids["root"])
    end_as_stopped(worker, runs)
    closed = read(store, record)
    assert closed.tasks_completed == (ids["a"],)
    assert closed.tasks_cancelled == (ids["b"], ids["c"])


def test_a_function_that_never_heard_of_the_stop_is_listed_as_completed(store: Store) -> None:
    worker, job = start(store)
    record = store.stop(job.id)
    assert worker.finish(job, value=7, heard=False).accepted == {job.id: State.COMPLETED}
    closed = read(store, record)
    assert (closed.status, closed.job_became) == ("completed", State.COMPLETED)
    assert closed.runners_terminated == ()
    assert store.show(job.id).result == 7


def test_a_function_that_returns_after_it_heard_keeps_its_value_as_a_partial(store: Store) -> None:
    worker, job = start(store)
    record = store.stop(job.id)
    assert worker.finish(job, value=[1, 2], heard=True).accepted == {job.id: State.CANCELLED}
    assert read(store, record).job_became is State.CANCELLED
    assert [partial["value"] for partial in store.job_output(job.id, "partials")] == [[1, 2]]
    assert store.show(job.id).result is None


def test_each_member_says_how_it_ended(store: Store) -> None:
    ids = make_jobs(
        store,
        [NewJob(key="root"), *(NewJob(key=key, task="work", parent="root") for key in "ab")],
    )
    worker = make_worker(store)
    job = worker.claim_one()
    record = store.stop(ids["root"])
    root, a, b = store.cancellation(record.cancellation_id).members
    assert (root.job_id, a.job_id, b.job_id) == (ids["root"], ids["a"], ids["b"])
    assert (a.was, a.became, a.ended_at, a.rung) == (State.RUNNING, None, None, None)
    assert (b.was, b.became, b.worker_id) == (State.PENDING, State.CANCELLED, None)
    worker.finish(job, "stopped", rung=Rung.KILLED, runner="test-host/4711", heard=True)
    closed = read(store, record)
    root, a, b = closed.members
    assert (a.became, a.rung, a.runner) == (State.CANCELLED, Rung.KILLED, "test-host/4711")
    assert (a.worker_id, a.error) == (str(worker.id), None)
    assert a.ended_at is not None
    assert root.became is State.CANCELLED
    assert closed.runners_terminated == ("test-host/4711",)


def test_slots_released_and_artifacts_preserved_are_on_record(store: Store) -> None:
    store.create_pool("tree", ["main"])
    worker, job = start(store, pools=["tree"])
    artifact = Artifact("report.txt", "file:///report.txt", 3)
    store.report(worker.id, [Report(job=job.id, token=job.token, artifacts=[artifact])])
    record = store.stop(job.id)
    assert record.slots_released == ()
    end_as_stopped(worker, job)
    closed = read(store, record)
    assert closed.slots_released == ("tree/main",)
    assert closed.artifacts_preserved == (f"{job.id}/report.txt",)
    assert details_of(closed)["release_slots"] == {"slots": 1}
    assert details_of(closed)["preserve_artifacts"] == {"artifacts": 1, "partials": 0}
    assert [slot.job_id for slot in store.pools("tree")[0].slots] == [None]
    assert [kept["name"] for kept in store.show(job.id).artifacts] == ["report.txt"]


def test_a_step_can_be_moved(store: Store) -> None:
    _, job = start(store)
    name = store.stop(job.id).cancellation_id
    assert store.step(name, "update_tasks", "in_progress").status == "updating_tasks"
    moved = store.step(name, "release_slots", "in_progress", details={"slots": 2})
    assert moved.status == "cleaning_resources"
    assert steps_of(moved)["release_slots"] == "in_progress"
    moved = store.step(name, "release_slots", "failed", details={"left": 1}, error="disk is gone")
    step = next(step for step in moved.progress if step.step_name == "release_slots")
    assert (step.status, step.details, step.error) == (
        "failed",
        {"slots": 2, "left": 1},
        "disk is gone",
    )
    for wrong in [("no_such_step", "completed"), ("update_tasks", "done")]:
        with pytest.raises(InputRefused):
            store.step(name, *wrong)


def test_a_cleanup_that_could_not_be_confirmed_leaves_the_record_partial(store: Store) -> None:
    worker, job = start(store)
    record = store.stop(job.id)
    store.step(record.cancellation_id, "release_slots", "failed", error="disk is gone")
    end_as_stopped(worker, job)
    closed = read(store, record)
    assert (closed.status, closed.success) == ("partial", False)
    assert steps_of(closed)["release_slots"] == "failed"
    assert "disk is gone" in closed.errors


def test_a_kill_that_could_not_be_confirmed_leaves_the_job_cancelling(store: Store) -> None:
    worker, job = start(store)
    record = store.stop(job.id)
    closed = store.close_record(record.cancellation_id, "partial", error="pid 7 is in state D")
    assert (closed.status, closed.error) == ("partial", "pid 7 is in state D")
    assert closed.completed_at is not None
    assert steps_of(closed)["terminate_runners"] == "failed"
    assert store.show(job.id).status == "cancelling"
    assert end_as_stopped(worker, job).accepted == {job.id: State.CANCELLED}
    assert read(store, record).status == "partial"


def test_a_record_is_not_completed_while_a_member_is_open(store: Store) -> None:
    _, job = start(store)
    name = store.stop(job.id).cancellation_id
    with pytest.raises(IllegalTransition, match="still being stopped"):
        store.close_record(name, "completed")
    assert store.cancellation(name).completed_at is None


def test_a_closed_record_stays_closed(store: Store) -> None:
    name = store.stop(make_job(store)).cancellation_id
    with pytest.raises(IllegalTransition):
        store.close_record(name, "failed")
    with pytest.raises(IllegalTransition):
        store.step(name, "update_tasks", "failed")
    assert store.cancellation(name).status == "completed"


def test_cancelling_again_takes_up_what_failed(store: Store) -> None:
    worker, job = start(store)
    failed = store.stop(job.id)
    store.close_record(failed.cancellation_id, "failed", error="three tries")
    again = store.stop(job.id, force=True)
    assert again.completed_at is None
    assert again.job_became is None
    assert any(signal.orders["force"] for signal in store.renew(worker.id).signals)
    end_as_stopped(worker, job)
    closed = read(store, again)
    assert (closed.status, closed.job_became) == ("completed", State.CANCELLED)
    assert store.renew(worker.id).signals == ()


def test_overlapping_records_both_end(store: Store) -> None:
    ids = make_jobs(store, [NewJob(key="root"), NewJob(key="a", task="work", parent="root")])
    worker = make_worker(store)
    job = worker.claim_one()
    inner, outer = store.stop(ids["a"]), store.stop(ids["root"])
    assert inner.cancellation_id != outer.cancellation_id
    end_as_stopped(worker, job)
    for record in (inner, outer):
        closed = read(store, record)
        assert (closed.status, closed.tasks_open) == ("completed", ())


def test_a_dead_workers_member_ends_as_expired(store: Store, sql: psycopg.Connection) -> None:
    _, job = start(store)
    record = store.stop(job.id)
    sql.execute("UPDATE tenure.worker SET expires_at = clock_timestamp() - interval '1 second'")
    store.recover()
    closed = read(store, record)
    (member,) = closed.members
    assert (closed.status, member.became, member.rung) == (
        "completed",
        State.CANCELLED,
        Rung.EXPIRED,
    )
    assert store.show(job.id).state is State.CANCELLED


def test_records_are_found_by_name_by_job_and_in_order(store: Store) -> None:
    jobs = [make_job(store) for _ in range(3)]
    names = [store.stop(job).cancellation_id for job in jobs]
    assert store.cancellation(job=jobs[1]).cancellation_id == names[1]
    assert [record.cancellation_id for record in store.cancellations(2)] == names[:0:-1]
    assert [record.cancellation_id for record in store.cancellations(2, 2)] == names[:1]
    for wrong in ("cancel-ffffff", "nonsense"):
        with pytest.raises(NotFound, match="there is no cancellation"):
            store.cancellation(wrong)
    with pytest.raises(NotFound, match="was never stopped"):
        store.cancellation(job=make_job(store))
