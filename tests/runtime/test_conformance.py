"""What every executor does alike, in a real worker: coroutines, processes and threads."""

from pathlib import Path
from typing import Any

import pytest

from tenure.app import Tenure
from tenure.control.handle import Handle
from tenure.control.task import Task
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.apps import jobs
from tests.workers import RunningWorker, Watcher, eventually

EXECUTORS: dict[str, Task[..., Any]] = {
    "async": jobs.all_async,
    "process": jobs.all_process,
    "thread": jobs.all_thread,
}


@pytest.fixture(params=list(EXECUTORS))
def task(request: pytest.FixtureRequest, worker: RunningWorker, app: Tenure) -> Task[..., Any]:
    return EXECUTORS[request.param]


def result(task: Task[..., Any], how: str) -> Any:
    return task.enqueue(how).result(timeout="20s")


def test_a_job_returns_its_result(task: Task[..., Any]) -> None:
    assert result(task, "return") == "done"


def test_an_error_is_kept_with_its_type_message_and_place(
    task: Task[..., Any], watch: Watcher, store: Store
) -> None:
    handle = task.enqueue("fail")
    watch.becomes(handle.id, State.FAILED)
    error: Any = store.show(handle.id).error
    assert (error["type"], error["message"]) == ("ValueError", "no good")
    assert 'raise ValueError("no good")' in error["traceback"]
    assert "tenure/runtime/runner" not in error["traceback"]


def test_a_job_that_exits_has_failed_and_its_runner_continues(
    task: Task[..., Any], watch: Watcher, store: Store
) -> None:
    handle = task.enqueue("exit")
    watch.becomes(handle.id, State.FAILED)
    assert store.show(handle.id).crashes == 0
    assert result(task, "return") == "done"


def test_cancelled_error_without_a_stop_is_a_failure(
    task: Task[..., Any], watch: Watcher, store: Store
) -> None:
    handle = task.enqueue("cancel itself")
    watch.becomes(handle.id, State.FAILED)
    error: Any = store.show(handle.id).error
    assert error["type"].endswith("CancelledError")


def test_a_stopped_job_is_cancelled_and_its_record_is_completed(
    task: Task[..., Any], watch: Watcher, folder: Path
) -> None:
    handle = _waiting(task, folder)
    asked = handle.cancel(reason="enough")
    record = watch.record_ends(asked.cancellation_id)
    assert watch.state(handle.id) is State.CANCELLED
    assert record.status == "completed"
    [member] = record.members
    assert member.rung in ("asked", "interrupted")


@pytest.mark.parametrize("preserved", [True, False])
def test_artifacts_of_a_cancelled_job_are_kept_unless_its_task_says_otherwise(
    task: Task[..., Any], preserved: bool, watch: Watcher, folder: Path, store: Store
) -> None:
    handle = _waiting(task.using(preserve_artifacts=preserved), folder)
    [artifact] = eventually(lambda: store.show(handle.id).artifacts)
    file = Path(str(artifact["url"]).removeprefix("file://"))
    assert file.read_text() == "half"
    record = watch.record_ends(handle.cancel().cancellation_id)
    assert len(store.show(handle.id).artifacts) == len(record.artifacts_preserved) == preserved
    assert file.exists() is preserved


def test_a_pause_keeps_the_checkpoint_and_resume_continues_from_it(
    task: Task[..., Any], watch: Watcher, folder: Path, store: Store
) -> None:
    handle = _waiting(task, folder)
    watch.record_ends(handle.pause(reason="later").cancellation_id)
    assert watch.state(handle.id) is State.PAUSED


def test_a_snoozed_job_runs_again_without_using_up_an_attempt(
    task: Task[..., Any], store: Store
) -> None:
    handle = task.enqueue("snooze")
    assert handle.result(timeout="20s") == "awake"
    assert store.show(handle.id).attempt == 1


def test_discard_fails_at_once(task: Task[..., Any], watch: Watcher, store: Store) -> None:
    handle = task.using(retry=5).enqueue("discard")
    watch.becomes(handle.id, State.FAILED)
    job = store.show(handle.id)
    assert (job.attempt, job.error_message) == (1, "bad input")


def test_a_job_that_pauses_itself_is_paused_with_its_reason(
    task: Task[..., Any], watch: Watcher, store: Store
) -> None:
    handle = task.enqueue("pause")
    watch.becomes(handle.id, State.PAUSED)
    seen = store.show(handle.id)
    assert (seen.pause_reason, seen.error, seen.error_message) == ("needs a human", None, None)


def test_what_it_prints_and_logs_is_in_the_jobs_log(task: Task[..., Any], store: Store) -> None:
    handle = task.enqueue("print")
    handle.result(timeout="20s")
    lines = {(line["level"], line["line"]) for line in store.job_output(handle.id, "logs")}
    assert lines >= {
        ("stdout", "to the log"),
        ("stderr", "to the log too"),
        ("warning", "logged"),
    }


def test_partials_and_checkpoint_are_kept(task: Task[..., Any], store: Store) -> None:
    handle = task.enqueue("emit")
    handle.result(timeout="20s")
    assert handle.partials() == [{"page": 1}]
    assert store.show(handle.id).checkpoint == {"page": 1}


def test_flush_waits_until_all_is_recorded(
    task: Task[..., Any], store: Store, folder: Path
) -> None:
    handle = task.enqueue("flush")
    eventually((folder / f"flushed-{handle.id}").exists)
    assert store.show(handle.id).progress == {"done": 1, "total": 2, "message": "half"}
    handle.cancel()


def test_spending_is_counted(task: Task[..., Any], store: Store) -> None:
    handle = task.enqueue("spend")
    handle.result(timeout="20s")
    assert store.show(handle.id).spent == {"tokens": 3}


def test_an_artifact_that_is_still_being_written_when_the_code_ends_is_kept(
    task: Task[..., Any], store: Store
) -> None:
    handle = task.enqueue("slow artifact")
    handle.result(timeout="20s")
    [artifact] = store.show(handle.id).artifacts
    assert artifact["size"] == len("hello")


def test_an_artifact_is_kept(task: Task[..., Any], store: Store) -> None:
    handle = task.enqueue("artifact")
    handle.result(timeout="20s")
    [artifact] = store.show(handle.id).artifacts
    assert artifact["name"] == "pages/one.txt"
    assert Path(str(artifact["url"]).removeprefix("file://")).read_text() == "hello"


def test_a_temporary_directory_is_gone_with_the_attempt(task: Task[..., Any]) -> None:
    assert not Path(result(task, "temp")).exists()


def test_a_child_is_waited_for_without_a_slot(task: Task[..., Any]) -> None:
    assert result(task, "spawn") == ["from child"]


def test_a_slot_is_held_and_given_back(task: Task[..., Any], store: Store) -> None:
    if "beds" not in {pool.name for pool in store.pools()}:
        store.create_pool("beds", ["top"])
    assert result(task, "slot") == "top"
    assert result(task, "slot") == "top"


def test_an_unknown_pool_is_an_error(task: Task[..., Any], watch: Watcher, store: Store) -> None:
    handle = task.enqueue("no such pool")
    watch.becomes(handle.id, State.FAILED)
    assert "there is no pool 'boats'" in (store.show(handle.id).error_message or "")


def test_a_job_can_read_its_own_id_attempt_and_task(task: Task[..., Any]) -> None:
    handle = task.enqueue("who")
    told = handle.result(timeout="20s")
    assert told[:4] == [handle.id, 1, True, task.name]


def test_a_result_that_is_not_json_fails_the_job_with_a_sentence(
    task: Task[..., Any], watch: Watcher, store: Store
) -> None:
    handle = task.enqueue("not json")
    state = watch.becomes(handle.id, State.FAILED, State.COMPLETED)
    if state is State.FAILED:
        assert task.name in (store.show(handle.id).error_message or "")


def _waiting(task: Task[..., Any], folder: Path) -> Handle[Any]:
    """A job that runs until it is stopped."""
    handle = task.enqueue("wait")
    eventually((folder / f"started-{handle.id}").exists)
    return handle
