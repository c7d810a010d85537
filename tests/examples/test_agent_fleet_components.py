"""The parts of the fleet on their own, each used as its design says."""

import asyncio
import dataclasses
import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from examples.agent_fleet import cancellation, fleet, resources, runners, tasks
from examples.agent_fleet.cancellation import (
    CancellationRecord,
    CancellationResult,
    CancellationStatus,
    CancellationStep,
    CancellationTracker,
)
from examples.agent_fleet.plan import Plan, Step
from examples.agent_fleet.resources import ResourceCleaner
from examples.agent_fleet.runners import RunnerTerminator
from examples.agent_fleet.tasks import DispatcherCore, TaskState

from tenure import NewJob, Settings, Tenure
from tenure.domain.lifecycle import Rung
from tenure.errors import IllegalTransition, InputRefused, JobNotFound
from tenure.store.store import Store
from tests.examples.conftest import pointed_at
from tests.examples.fleet import APP, JOB, RUNNING, Fleet, lives, make_repository
from tests.workers import eventually


@pytest.fixture
def job(worker_of: Any, database: str, store: Store, tmp_path: Path) -> Iterator[Fleet]:
    """A job with three agents at work."""
    with pointed_at(fleet.app, database):
        make_repository(tmp_path / "chat-app")
        with worker_of(APP):
            job = Fleet(tmp_path / "chat-app")
            yield job
            with suppress(IllegalTransition):  # the test has cancelled it
                fleet.app.handle(JOB).cancel("the test is over", force=True, wait=True)


@pytest.fixture
def app(database: str, store: Store) -> Iterator[Tenure]:
    """The app of the fleet without a worker."""
    with pointed_at(fleet.app, database) as app:
        yield app


def names(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)[1:]


def defaults(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {it.name: it.default for it in parameters if it.default is not inspect.Parameter.empty}


def test_every_method_takes_what_the_design_says() -> None:
    service, tracker = cancellation.CancellationService, cancellation.CancellationTracker
    terminator, cleaner = runners.RunnerTerminator, resources.ResourceCleaner
    assert names(service.__init__) == [
        *("task_registry", "dispatcher", "runner_monitor", "repo_pool", "artifact_store")
    ]
    assert names(service.cancel_job) == ["job_id", "reason", "force"]
    assert names(service.cancel_task) == ["task_id", "reason", "cascade"]
    assert names(service.get_cancellation_status) == ["job_id"]
    assert names(tracker.__init__) == ["storage_path", "app"]
    assert names(tracker.start_cancellation) == ["job_id", "reason", "force"]
    assert names(tracker.update_progress) == ["cancellation_id", "step", "status"]
    assert names(tracker.complete_cancellation) == ["cancellation_id", "result"]
    assert names(terminator.__init__) == ["runner_monitor"]
    assert names(terminator.terminate_runner) == ["runner_id", "graceful", "timeout"]
    assert names(terminator.terminate_job_runners) == ["job_id", "graceful"]
    assert names(cleaner.__init__) == ["repo_pool", "artifact_store"]
    assert names(cleaner.cleanup_job_resources) == ["job_id", "preserve_artifacts"]
    assert names(cleaner.release_repo_slots) == ["job_id"]
    assert names(tasks.TaskRegistry.cancel_job_tasks) == ["job_id", "reason"]
    assert names(tasks.TaskRegistry.get_job_tasks_by_state) == ["job_id", "states"]
    assert names(runners.RunnerMonitor.send_termination_signal) == ["runner_id", "graceful"]
    assert names(runners.RunnerMonitor.get_job_runners) == ["job_id"]


def test_what_may_be_left_out_is_what_the_design_says() -> None:
    terminator, cleaner = runners.RunnerTerminator, resources.ResourceCleaner
    assert defaults(cancellation.CancellationService.cancel_job) == {"force": False}
    assert defaults(cancellation.CancellationService.cancel_task) == {"cascade": True}
    assert defaults(cancellation.CancellationTracker.start_cancellation) == {}
    assert defaults(terminator.terminate_runner) == {"graceful": True, "timeout": 30}
    assert defaults(terminator.terminate_job_runners) == {"graceful": True}
    assert defaults(cleaner.cleanup_job_resources) == {"preserve_artifacts": True}
    assert defaults(runners.RunnerMonitor.send_termination_signal) == {"graceful": True}


def test_records_steps_and_results_have_the_fields_of_the_design() -> None:
    assert [field.name for field in dataclasses.fields(CancellationRecord)] == [
        *("cancellation_id", "job_id", "task_id", "reason", "force", "initiated_at"),
        *("initiated_by", "status", "progress", "completed_at", "error"),
    ]
    assert [field.name for field in dataclasses.fields(CancellationResult)] == [
        *("success", "cancellation_id", "job_id", "tasks_cancelled", "tasks_completed"),
        *("runners_terminated", "slots_released", "artifacts_preserved", "errors"),
        "duration_seconds",
    ]
    assert CancellationStep.__struct_fields__ == (
        *("step_name", "status", "started_at", "completed_at", "details", "error"),
    )
    assert {status.name: status.value for status in CancellationStatus} == {
        "INITIATED": "initiated",
        "STOPPING_RUNNERS": "stopping_runners",
        "UPDATING_TASKS": "updating_tasks",
        "CLEANING_RESOURCES": "cleaning_resources",
        "COMPLETED": "completed",
        "FAILED": "failed",
        "PARTIAL": "partial",
    }


def test_a_tracker_follows_a_cancellation_that_any_other_can_see(job: Fleet) -> None:
    tracker = CancellationTracker()
    started = tracker.start_cancellation(JOB, "wrong design", force=False)
    active = CancellationTracker().active_cancellations[started]
    assert (active.job_id, active.reason, active.force) == (JOB, "wrong design", False)
    tracker.update_progress(started, "terminate_runners", "in_progress")
    assert CancellationTracker().get(started).status == CancellationStatus.STOPPING_RUNNERS
    result = asyncio.run(job.service.cancel_job(JOB, "the same once more"))
    assert result.cancellation_id == started
    tracker.complete_cancellation(started, result)
    assert tracker.active_cancellations == {}
    ended = tracker.latest(JOB)
    assert (ended.status, ended.reason) == (CancellationStatus.COMPLETED, "wrong design")
    assert {step.status for step in ended.progress} == {"completed"}
    assert [record.cancellation_id for record in tracker.list_cancellations(limit=10)] == [started]
    status = asyncio.run(job.service.get_cancellation_status(JOB))
    assert status is CancellationStatus.COMPLETED


def test_a_cancellation_is_not_complete_while_an_agent_runs(job: Fleet) -> None:
    tracker = CancellationTracker()
    started = tracker.start_cancellation(JOB, "wrong design", force=False)
    assert any(map(lives, job.pids("client")))  # it ignores SIGTERM
    early = CancellationResult(True, started, JOB, [], [], [], [], [], [], 0.0)
    with pytest.raises(IllegalTransition, match="still being stopped"):
        tracker.complete_cancellation(started, early)


def test_a_tracker_can_be_given_the_folder_of_its_database(tmp_path: Path) -> None:
    with Tenure(settings=Settings(folder=tmp_path)) as app:
        app.store.enqueue([NewJob(task="agent", key="lonely")])
        started = CancellationTracker(tmp_path).start_cancellation("lonely", "no agents", False)
        assert CancellationTracker(storage_path=tmp_path).get(started).status == "completed"


def test_a_runner_is_terminated_gracefully(job: Fleet) -> None:
    terminator = RunnerTerminator(job.service.runner_monitor)
    ended = terminator.terminate_runner(job.runner("server"), graceful=True, timeout=30)
    assert asyncio.run(ended) is True
    job.nothing_is_left_of("server")
    assert job.states()["client"] == TaskState.RUNNING
    assert job.states()["deploy"] == TaskState.PENDING
    asyncio.run(terminator.runner_monitor.send_termination_signal(job.runner("server")))


def test_a_runner_that_ignores_the_signal_is_killed_after_the_timeout(job: Fleet) -> None:
    terminator = RunnerTerminator(job.service.runner_monitor)
    assert asyncio.run(terminator.terminate_runner(job.runner("client"), timeout=1)) is True
    job.nothing_is_left_of("client")
    record = fleet.app.store.cancellation(job=job.handle("client").id)
    [member] = record.members
    assert (member.rung, record.force) == (Rung.KILLED, True)


def test_all_runners_of_a_job_are_terminated_at_the_same_time(job: Fleet) -> None:
    runners_ = job.service.runner_monitor.get_job_runners(JOB)
    assert runners_ == [job.runner(step) for step in RUNNING]
    began = time.monotonic()
    terminator = RunnerTerminator(job.service.runner_monitor)
    assert asyncio.run(terminator.terminate_job_runners(JOB, graceful=False)) == runners_
    job.nothing_is_left_of(*RUNNING)
    assert time.monotonic() - began < 30
    assert job.service.runner_monitor.get_job_runners(JOB) == []


def test_the_signal_never_cancels_a_task_that_has_no_runner(job: Fleet) -> None:
    monitor = job.service.runner_monitor
    asyncio.run(monitor.send_termination_signal(job.runner("deploy")))
    assert job.states()["deploy"] == TaskState.PENDING
    with pytest.raises(InputRefused, match="'server' is no runner; their ids look like"):
        asyncio.run(monitor.send_termination_signal("server"))


def test_resources_of_a_cancelled_job_are_cleaned_up_and_its_artifacts_kept(job: Fleet) -> None:
    cleaner = ResourceCleaner(job.service.repo_pool, job.service.artifact_store)
    early = asyncio.run(cleaner.cleanup_job_resources(JOB))
    assert early.slots_released == []
    assert early.errors == [
        f"slot {slot} is still held; cancel the job first" for slot in ("slot-1", "slot-2")
    ]
    job.registry.cancel_job_tasks(JOB, "wrong design")
    assert asyncio.run(cleaner.release_repo_slots(JOB)) == ["slot-1", "slot-2"]
    kept = asyncio.run(cleaner.cleanup_job_resources(JOB, preserve_artifacts=True))
    assert kept.artifacts_preserved == [f"{JOB}.schema/models.py", f"{JOB}.schema/schema.sql"]
    assert (kept.errors, kept.artifacts_deleted) == ([], [])
    [model, _] = job.handle("schema").artifacts()
    file = Path(str(model["url"]).removeprefix("file://"))
    assert file.exists()
    gone = asyncio.run(cleaner.cleanup_job_resources(JOB, preserve_artifacts=False))
    assert gone.artifacts_deleted == kept.artifacts_preserved
    assert not file.exists()
    assert job.service.artifact_store.names(JOB) == []


def test_a_blocked_job_is_assigned_no_new_task(job: Fleet) -> None:
    dispatcher = DispatcherCore(fleet.app)
    for name in (JOB, "shop"):
        dispatcher.block_job_assignment(name)
    for name in ("shop", "mall"):
        job.registry.submit(Plan(name, [Step("server", ["a.txt"], in_repo=False)]), "")
    fleet.app.handle("mall").wait("60s")  # what came later and is not blocked has completed
    assert fleet.app.handle("shop.server").status() == "queued"
    assert job.states()["server"] == TaskState.RUNNING
    dispatcher.unblock_job_assignment("shop")
    fleet.app.handle("shop").wait("60s")


def test_the_dispatcher_knows_a_cancelled_job_from_the_request_on(job: Fleet) -> None:
    dispatcher = DispatcherCore(fleet.app)
    assert not dispatcher.is_job_cancelled(JOB)
    fleet.app.handle(JOB).cancel("enough")
    assert job.states()["client"] == TaskState.RUNNING  # it ignores SIGTERM
    assert dispatcher.is_job_cancelled(JOB)
    fleet.app.handle(JOB).cancel("at once", force=True, wait=True)
    assert dispatcher.is_job_cancelled(JOB)


def test_the_registry_finds_tasks_by_state_and_cancels_them_all(job: Fleet) -> None:
    running = job.registry.get_job_tasks_by_state(JOB, [TaskState.RUNNING])
    assert [task.task_id for task in running] == [f"{JOB}.{step}" for step in RUNNING]
    open_ = job.registry.get_job_tasks_by_state(JOB, [TaskState.RUNNING, TaskState.PENDING])
    cancelled = job.registry.cancel_job_tasks(JOB, "wrong design")
    assert cancelled == [task.task_id for task in open_]
    states = [TaskState.COMPLETED]
    [kept] = job.registry.get_job_tasks_by_state(JOB, states)
    assert (kept.task_id, kept.job_id) == (f"{JOB}.schema", JOB)


def test_what_cannot_be_cancelled_is_refused_and_leaves_no_record(app: Tenure) -> None:
    service = cancellation.service_of(app)
    with pytest.raises(JobNotFound, match="there is no job with the key 'nowhere'"):
        asyncio.run(service.cancel_job("nowhere", "a mistake"))
    assert service.cancellation_tracker.list_cancellations() == []


def test_two_who_cancel_at_the_same_moment_are_told_the_same(job: Fleet) -> None:
    async def both() -> list[CancellationResult]:
        calls = (job.service.cancel_job(JOB, reason, force=True) for reason in ("one", "two"))
        return await asyncio.gather(*calls)

    first, second = asyncio.run(both())
    assert first.cancellation_id == second.cancellation_id
    assert eventually(lambda: not any(map(lives, job.pids("client"))))
    assert first.tasks_cancelled == second.tasks_cancelled
