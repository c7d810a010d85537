"""Code that changes the process it runs in harms neither its neighbours nor those after it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tenure.app import Tenure
from tenure.control.task import Task
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.apps import faults
from tests.conftest import wipe
from tests.workers import RUNNER_STARTS, RunningWorker, Watcher, eventually, running_worker

AnyTask = Task[..., Any]


@pytest.fixture(scope="module", params=RUNNER_STARTS)
def start(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def folder(start: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp(f"worker-{start}")


@pytest.fixture(scope="module")
def worker(start: str, shared_database: str, folder: Path) -> Iterator[RunningWorker]:
    wipe(shared_database)
    settings = {"TENURE_PROCESSES": "1", "TENURE_RUNNER_START": start}
    if start == "spawn":
        settings["TENURE_TEST_LIBRARY"] = "1"
    with running_worker(
        shared_database, folder, app="tests.apps.faults:app", settings=settings
    ) as worker:
        yield worker


@pytest.fixture(scope="module", autouse=True)
def app(worker: RunningWorker, shared_database: str) -> Iterator[Tenure]:
    before, faults.app._url = faults.app._url, shared_database
    yield faults.app
    faults.app.close()
    faults.app._url = before


def result(task: AnyTask, *args: Any) -> Any:
    return task.enqueue(*args).result(timeout="20s")


@contextmanager
def unharmed(folder: Path, store: Store) -> Iterator[None]:
    """A neighbour in the same loop continues, in the same process and its only attempt."""
    handle = faults.neighbour.enqueue()
    eventually((folder / f"started-{handle.id}").exists)
    yield
    (folder / f"go-{handle.id}").touch()
    [_] = handle.result(timeout="20s")
    job = store.show(handle.id)
    assert (job.attempt, job.crashes) == (1, 0)


# Forks.

FORKS: list[AnyTask] = [
    faults.forks,
    faults.forks_async,
    faults.forks_thread,
    faults.forks_in_a_thread,
    faults.forks_in_a_task,
]


@pytest.mark.parametrize("task", FORKS, ids=lambda task: str(task.name).rpartition(".")[2])
@pytest.mark.parametrize(("how", "code"), [("return", 1), ("raise", 1), ("exit", 7), ("speak", 8)])
def test_a_forked_child_is_not_its_job(
    task: AnyTask, how: str, code: int, folder: Path, store: Store
) -> None:
    with unharmed(folder, store):
        handle = task.enqueue(how)
        assert handle.result(timeout="20s") == code
        assert handle.partials() == []


@pytest.mark.parametrize("task", [faults.forks_in_its_hook, faults.forks_in_its_hook_async])
def test_a_hook_that_forks_ends_its_child(
    task: AnyTask, folder: Path, store: Store, watch: Watcher
) -> None:
    with unharmed(folder, store):
        handle = task.enqueue()
        watch.becomes(handle.id, State.FAILED)
        assert (folder / f"hook-{handle.id}").read_text() == "1\n"
        assert store.show(handle.id).error_message == "for the hook"


@pytest.mark.parametrize("task", [faults.has_children, faults.has_children_async])
def test_children_of_multiprocessing_and_subprocess_work(task: AnyTask) -> None:
    """And of what they inherit nothing leads to the keeper."""
    assert result(task) == ["from a child", 0, "hello", True]


def test_what_a_child_prints_and_logs_is_in_the_log_of_its_job(store: Store) -> None:
    handle = faults.has_children.enqueue()
    handle.result(timeout="20s")
    lines = {str(line["line"]) for line in store.job_output(handle.id, "logs")}
    assert lines >= {"printed by a child", "logged by a child"}


# Loops.


def test_a_job_that_stops_the_loop_stops_nobody(
    folder: Path, store: Store, worker: RunningWorker
) -> None:
    with unharmed(folder, store):
        assert result(faults.stops_its_loop) == "stopped"
    worker.says("a job stopped the event loop")


def test_a_job_that_closes_the_loop_has_failed(folder: Path, store: Store, watch: Watcher) -> None:
    with unharmed(folder, store):
        handle = faults.closes_its_loop.enqueue()
        watch.becomes(handle.id, State.FAILED)
        assert store.show(handle.id).error_message == "Cannot close a running event loop"


def test_a_callback_that_exits_ends_nobody(folder: Path, store: Store) -> None:
    with unharmed(folder, store):
        assert result(faults.exits_in_a_callback) == "still here"


def test_a_callback_that_forks_ends_its_child_before_a_neighbour_runs_in_it(
    folder: Path, store: Store
) -> None:
    with unharmed(folder, store):
        for _ in range(20):
            assert result(faults.forks_in_a_callback) == 1


@pytest.mark.parametrize("how", ["at once", "later", "cancelled"])
def test_an_exit_in_a_task_is_an_error_of_that_task(how: str, folder: Path, store: Store) -> None:
    with unharmed(folder, store):
        told = result(faults.exits_in_a_task, how)
        assert told == ["a task of the job raised SystemExit(3)", "SystemExit(3)"]
        assert result(faults.exits_in_a_task_of_nobody) == "done"


def test_an_interrupt_in_a_task_group_fails_its_job_alone(
    folder: Path, store: Store, watch: Watcher
) -> None:
    with unharmed(folder, store):
        handle = faults.is_interrupted_in_a_task.enqueue()
        watch.becomes(handle.id, State.FAILED)
        error: Any = store.show(handle.id).error
        assert "KeyboardInterrupt('in a task')" in error["traceback"]


# What is left behind.


def test_a_task_is_owned_by_its_job_after_another_job_replaced_the_task_factory(
    folder: Path, store: Store
) -> None:
    with unharmed(folder, store):
        result(faults.replaces_the_task_factory)
        handle = faults.leaves_a_task.enqueue()
        handle.result(timeout="20s")
        assert handle.job().cleanup["left_behind"] == ["task left alone"]


def test_threads_and_processes_of_the_app_itself_are_nobodys(worker: RunningWorker) -> None:
    assert result(faults.pid) == result(faults.pid) == result(faults.leaves, "nothing")


@pytest.mark.parametrize("what", ["thread", "process"])
def test_threads_and_processes_of_a_job_end_with_it(what: str) -> None:
    before = result(faults.leaves, what)
    assert result(faults.pid) != before


def test_what_the_app_itself_started_is_not_terminated_with_a_job(
    folder: Path, watch: Watcher
) -> None:
    handle = faults.outlives_its_interrupt.enqueue()
    eventually((folder / f"started-{handle.id}").exists)
    handle.cancel()
    watch.becomes(handle.id, State.CANCELLED)
    assert (folder / f"ended-{handle.id}").read_text() == "-15 None\n"


def test_a_function_finds_everything_as_the_one_before_it_did() -> None:
    before = result(faults.surroundings)
    changed = result(faults.changes_its_surroundings)
    assert [name for name in before if before[name] == changed[name]] == ["pid"]
    assert result(faults.surroundings) == before


def test_a_function_is_interrupted_after_one_that_took_the_signal_away(
    folder: Path, watch: Watcher
) -> None:
    result(faults.changes_its_surroundings)
    handle = faults.sleeps.enqueue()
    eventually((folder / f"started-{handle.id}").exists)
    record = watch.record_ends(handle.cancel().cancellation_id)
    assert [member.rung for member in record.members] == ["interrupted"]


# Interrupts.


@pytest.mark.parametrize("how", ["emit", "ask"])
def test_an_interrupt_waits_until_a_frame_is_whole(
    how: str, folder: Path, store: Store, watch: Watcher
) -> None:
    with unharmed(folder, store):
        handle = faults.speaks_slowly.enqueue(how)
        eventually((folder / f"started-{handle.id}").exists)
        record = watch.record_ends(handle.cancel().cancellation_id)
        assert [member.rung for member in record.members] == ["interrupted"]
        assert (folder / f"written-{handle.id}").exists()
