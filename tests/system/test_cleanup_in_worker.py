"""Hooks and resources: what runs between the end of a job's code and the end of its attempt."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tenure.control.task import Task
from tenure.domain.job import Job
from tenure.domain.lifecycle import State
from tests.apps import cleaning
from tests.cleanup import KEYS
from tests.system.stage import Stage, staged
from tests.workers import eventually

HOOKED = [cleaning.hooked, cleaning.function_hooked]
FALSY = [cleaning.fails_with_a_falsy_error, cleaning.function_fails_with_a_falsy_error]
BADLY_HOOKED = [cleaning.badly_hooked, cleaning.function_badly_hooked]
WITH_RESOURCES = [cleaning.has_resources, cleaning.function_has_resources]


def named(task: Task[..., Any]) -> str:
    return task.__name__


@pytest.fixture(scope="module")
def stage(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("worker")
    with staged(cleaning.app, shared_database, folder, "cleaning") as stage:
        yield stage


def logged(stage: Stage, job: int) -> str:
    return "\n".join(str(line["line"]) for line in stage.store.job_output(job, "logs"))


def report_of(job: Job) -> dict[str, Any]:
    report: dict[str, Any] = job.cleanup
    # A close that hangs keeps its thread, which is listed next to the report.
    assert set(report) - {"left_behind"} == set(KEYS)
    assert report["cleanup_started_at"] <= report["cleanup_completed_at"]
    assert report["cleanup_duration_seconds"] >= 0.2, "the slow one has 200 ms"
    return report


def closed_as_it_should(stage: Stage, job: Job) -> dict[str, Any]:
    """Check that one resource was closed gracefully and the other by force."""
    report = report_of(job)
    assert sorted(stage.lines(f"closed-{job.id}")) == ["good", "slow by force"]
    assert (report["graceful_close_succeeded"], report["force_closed"]) == (["good"], ["slow"])
    assert (report["total_resources"], report["failed"]) == (2, [])
    return report


# This test comes before the others, which share a worker.


def test_a_drain_closes_the_resources_and_another_worker_continues_the_job(
    shared_database: str, tmp_path: Path
) -> None:
    with staged(
        cleaning.app, shared_database, tmp_path, "cleaning", TENURE_DRAIN_GRACE="8s"
    ) as stage:
        handles = [stage.start(task) for task in WITH_RESOURCES]
        hooked = stage.start(cleaning.hooked, fails=False)
        stage.worker.signal(signal.SIGTERM)
        assert stage.worker.ends() == 4, "what it had was handed over"
        for handle in handles:
            job = stage.store.show(handle.id)
            assert (job.state, job.attempt) == (State.PENDING, 0), "nothing is spent"
            closed_as_it_should(stage, job)
            assert handle.partials() == [{"page": 1}]
        assert not stage.lines(f"hook-{hooked.id}"), "nobody cancelled it"
        assert not any(Path(f"/proc/{runner}").exists() for runner in pids(stage, handles))


def pids(stage: Stage, handles: list[Any]) -> list[str]:
    return [pid for handle in handles for pid in stage.lines(f"pids-{handle.id}")]


# Hooks.


@pytest.mark.parametrize("task", HOOKED, ids=named)
def test_a_stop_calls_the_hook(stage: Stage, task: Task[..., Any]) -> None:
    handle = stage.start(task, fails=False)
    stage.is_stopped(handle, stage.stop(handle), "interrupted")
    assert stage.lines(f"hook-{handle.id}") == ["cancel: enough"]


@pytest.mark.parametrize("task", HOOKED, ids=named)
def test_a_failure_calls_the_hook(stage: Stage, task: Task[..., Any]) -> None:
    handle = task.enqueue(fails=True)
    stage.watch.becomes(handle.id, State.FAILED)
    assert stage.lines(f"hook-{handle.id}") == ["failure: no good"]
    stage.nothing_is_left(handle.id)


@pytest.mark.parametrize("task", FALSY, ids=named)
def test_a_failure_with_an_error_that_is_false_calls_the_hook(
    stage: Stage, task: Task[..., Any]
) -> None:
    handle = task.enqueue()
    stage.watch.becomes(handle.id, State.FAILED)
    assert stage.lines(f"hook-{handle.id}") == ["failure: no good"]


@pytest.mark.parametrize("task", BADLY_HOOKED, ids=named)
def test_a_hook_that_raises_changes_nothing(stage: Stage, task: Task[..., Any]) -> None:
    handle = stage.start(task)
    stage.is_stopped(handle, stage.stop(handle), "interrupted")
    assert stage.lines(f"hook-{handle.id}") == [""]
    assert "the hook is broken" in logged(stage, handle.id)


def test_every_attempt_that_fails_calls_the_hook(stage: Stage) -> None:
    handle = cleaning.fails_thrice.enqueue()
    stage.watch.becomes(handle.id, State.FAILED)
    assert stage.lines(f"hook-{handle.id}") == [f"failure: attempt {n}" for n in (1, 2, 3)]


def test_a_timeout_is_a_failure_to_its_hooks(stage: Stage) -> None:
    handle = cleaning.hooked_and_too_slow.enqueue()
    stage.watch.becomes(handle.id, State.FAILED)
    assert stage.lines(f"hook-{handle.id}") == ["failure: timeout of 300ms exceeded"]


# Resources.


@pytest.mark.parametrize("task", WITH_RESOURCES, ids=named)
def test_a_stop_closes_the_resources(stage: Stage, task: Task[..., Any]) -> None:
    handle = stage.start(task)
    record = stage.stop(handle, by="alice")
    stage.is_stopped(handle, record, "interrupted")
    report = closed_as_it_should(stage, stage.store.show(handle.id))
    assert (report["cancelled_by"], report["cancellation_reason"]) == ("alice", "enough")
    assert report["job_status_updated"] is True
    assert report["job_cancelled_at"]
    assert handle.partials() == [{"page": 1}]
    assert stage.store.show(handle.id).progress["message"] == "in the middle"


def test_the_report_is_on_the_record(stage: Stage) -> None:
    handle = stage.start(cleaning.has_resources)
    record = msgspec.json.encode(stage.stop(handle)).decode()
    assert all(key in record for key in KEYS)


@pytest.mark.parametrize("task", WITH_RESOURCES, ids=named)
@pytest.mark.parametrize("how", ["fail", "return"])
def test_every_end_closes_the_resources(stage: Stage, task: Task[..., Any], how: str) -> None:
    handle = task.enqueue(how=how)
    expected = State.FAILED if how == "fail" else State.COMPLETED
    stage.watch.becomes(handle.id, expected)
    report = closed_as_it_should(stage, stage.store.show(handle.id))
    assert (report["cancelled_by"], report["job_status_updated"]) == (None, False)
    assert handle.partials() == [{"page": 1}]
    stage.nothing_is_left(handle.id)


@pytest.mark.parametrize("task", WITH_RESOURCES, ids=named)
def test_a_timeout_closes_the_resources(stage: Stage, task: Task[..., Any]) -> None:
    def times_out_after_it_began() -> Any:
        """Retry: on a busy machine the job may time out before it has any resource."""
        handle = task.using(timeout="500ms").enqueue()
        stage.watch.becomes(handle.id, State.FAILED)
        assert stage.store.show(handle.id).error["type"] == "tenure.Timeout"
        return handle if stage.lines(f"started-{handle.id}") else None

    handle = eventually(times_out_after_it_began)
    report = closed_as_it_should(stage, stage.store.show(handle.id))
    assert report["cancelled_by"] == "policy:timeout"
    assert handle.partials() == [{"page": 1}]


@pytest.mark.parametrize("task", WITH_RESOURCES, ids=named)
def test_what_cannot_be_closed_is_told_and_tried_again_by_a_job(
    stage: Stage, task: Task[..., Any]
) -> None:
    handle = stage.start(task, fails=True)
    asked = handle.cancel(reason="enough")
    record = stage.watch.record_ends(asked.cancellation_id)
    job = stage.store.show(handle.id)
    assert job.state is State.CANCELLED
    [failure] = report_of(job)["failed"]
    assert (failure["name"], failure["error"]) == ("bad", "it is stuck")
    assert failure["retry"] == cleaning.closes_again.name
    [member] = record.members
    assert "it is stuck" in (member.error or ""), "the record names what is left"
    assert record.errors
    eventually(lambda: stage.lines(f"closed-again-{handle.id}"), "a job closes it after all")
    stage.nothing_is_left(handle.id)
