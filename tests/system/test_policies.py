"""Policies, bulk stops and artifacts that are not preserved, by real workers."""

import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tenure.control.handle import Handle
from tenure.domain.cancellation import CancellationRecord
from tenure.domain.lifecycle import State
from tests.apps import jobs
from tests.system.stage import Stage, staged
from tests.workers import eventually, running_worker

SOON = {"TENURE_POLICIES_EVERY": "200ms"}


@pytest.fixture(scope="module")
def stage(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("worker")
    queues = ("--queues", "default,shaky,many")
    with staged(jobs.app, shared_database, folder, "jobs", *queues, **SOON) as stage:
        yield stage


@pytest.fixture(autouse=True)
def no_policies(stage: Stage) -> Iterator[None]:
    yield
    for policy in stage.store.policies():
        stage.store.drop_policy(policy.name)


def started(stage: Stage, task: Any = jobs.all_async, **placing: Any) -> Handle[Any]:
    handle: Handle[Any] = task.using(**placing).enqueue("wait")
    eventually((stage.folder / f"started-{handle.id}").exists, f"job {handle.id} runs")
    return handle


def stopped_by(stage: Stage, handle: Handle[Any], policy: str) -> CancellationRecord:
    stage.watch.becomes(handle.id, State.CANCELLED)
    record = stage.store.cancellation(job=handle.id)
    record = stage.watch.record_ends(record.cancellation_id)
    assert (record.initiated_by, record.status) == (f"policy:{policy}", "completed")
    return record


def test_a_job_is_cancelled_at_its_time(stage: Stage) -> None:
    handle = started(stage)
    at = datetime.now(UTC) + timedelta(seconds=1)
    assert handle.cancel_at(at, "closing time", strategy="immediate").name in {
        policy.name for policy in stage.store.policies()
    }
    record = stopped_by(stage, handle, f"cancel-at:{handle.id}")
    assert record.initiated_at >= at
    assert (record.reason, record.force) == ("closing time", True)
    eventually(lambda: not stage.store.policies(), "the policy has gone with its job")


def test_a_running_job_gives_way_to_a_newer_one_of_its_key(stage: Stage) -> None:
    stage.store.set_policy("newest", {"when": {"superseded": True}})
    old = started(stage, key="site")
    new = started(stage, key="site")
    record = stopped_by(stage, old, "newest")
    assert record.reason == "a newer job has its key"
    assert stage.watch.state(new.id) is State.RUNNING
    new.cancel(wait=True, timeout="20s")


def test_a_queue_whose_jobs_fail_is_stopped(stage: Stage) -> None:
    stage.store.set_policy(
        "breaker", {"intent": "pause", "when": {"error_rate": {"above": 0.5, "of": 3}}}
    )
    waiting = started(stage, queue="shaky")
    other = started(stage)
    for _ in range(3):
        stage.watch.becomes(jobs.all_async.using(queue="shaky").enqueue("fail").id, State.FAILED)
    stage.watch.becomes(waiting.id, State.PAUSED)
    assert stage.store.cancellation(job=waiting.id).initiated_by == "policy:breaker"
    assert stage.watch.state(other.id) is State.RUNNING
    stage.store.drop_policy("breaker")
    for handle in (waiting, other):
        handle.cancel(wait=True, timeout="20s")


def test_workers_carry_on_a_bulk_stop(stage: Stage) -> None:
    running = started(stage, queue="many")
    waiting = [jobs.echo.using(queue="many", delay="1h").enqueue(1) for _ in range(3)]
    bulk = stage.store.bulk_stop({"queue": "many"}, by="ada")
    eventually(lambda: stage.store.bulk(bulk.id).ended_at, "the bulk stop is over")
    for handle in (running, *waiting):
        stage.watch.becomes(handle.id, State.CANCELLED)
    assert stage.store.bulk(bulk.id).done == 4


@pytest.mark.parametrize("how", ["asked", "killed"])
@pytest.mark.parametrize("task", [jobs.all_async, jobs.all_process], ids=lambda task: task.name)
def test_a_stop_that_does_not_preserve_deletes_the_artifacts(
    stage: Stage, task: Any, how: str
) -> None:
    handle = started(stage, task)
    file = artifact_of(stage, handle)
    record = handle.cancel(preserve=False, force=how == "killed", wait=True, timeout="20s")
    gone(stage, handle, record, file)


def test_a_stop_that_preserves_keeps_what_the_task_would_not(stage: Stage) -> None:
    handle = started(stage, preserve_artifacts=False)
    file = artifact_of(stage, handle)
    record = handle.cancel(preserve=True, wait=True, timeout="20s")
    assert len(record.artifacts_preserved) == 1
    assert file.read_text() == "half"


def test_the_next_worker_deletes_the_artifacts_of_one_that_died(
    stage: Stage, shared_database: str
) -> None:
    short = {"TENURE_LEASE": "1s", "TENURE_BEAT": "200ms"}
    only = ("--queues", "doomed")
    with running_worker(shared_database, stage.folder, *only, settings=short) as doomed:
        handle = started(stage, queue="doomed")
        file = artifact_of(stage, handle)
        doomed.signal(signal.SIGSTOP)
        record = handle.cancel(preserve=False)
        doomed.signal(signal.SIGKILL)
    stage.watch.becomes(handle.id, State.CANCELLED)
    gone(stage, handle, stage.watch.record_ends(record.cancellation_id), file)


def artifact_of(stage: Stage, handle: Handle[Any]) -> Path:
    [artifact] = eventually(lambda: stage.store.show(handle.id).artifacts, "an artifact is kept")
    file = Path(str(artifact["url"]).removeprefix("file://"))
    assert file.exists()
    return file


def gone(stage: Stage, handle: Handle[Any], record: CancellationRecord, file: Path) -> None:
    eventually(lambda: not stage.store.show(handle.id).artifacts, "its artifacts are gone")
    assert not file.exists()
    seen = stage.store.cancellation(record.cancellation_id)
    assert seen.artifacts_preserved == ()
    assert seen.progress[-1].details == {"artifacts": 0, "partials": 0}
