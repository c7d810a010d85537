"""Every attempt in a process runner ends, or its runner does; and the next job finds a good one."""

from collections.abc import Iterator
from typing import Any

import pytest

from tenure.domain.lifecycle import State
from tests.apps import process_faults as jobs
from tests.system.stage import Jobs, Stage, rungs_in, staged
from tests.workers import eventually


@pytest.fixture(scope="module")
def stage(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("worker")
    with staged(jobs.app, shared_database, folder, "process_faults", TENURE_PROCESSES="1") as stage:
        yield stage


@pytest.fixture(autouse=True)
def _works_on(stage: Stage) -> Iterator[None]:
    yield
    assert jobs.quick.enqueue().result(timeout="30s")


def error_of(stage: Stage, handle: Jobs) -> dict[str, Any]:
    """How it failed, in its only attempt."""
    stage.watch.becomes(handle.id, State.FAILED)
    error = stage.store.show(handle.id).error
    assert error is not None
    return dict(error)


def test_a_job_that_used_up_its_descriptors_has_completed(stage: Stage) -> None:
    handle = jobs.uses_up_its_descriptors.enqueue()
    assert handle.result(timeout="30s") == "done"
    [runner] = stage.lines(f"runner-{handle.id}")
    assert jobs.quick.enqueue().result(timeout="30s") != int(runner)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("exits", "its message cannot be shown: SystemExit"),
        ("interrupts", "its message cannot be shown: KeyboardInterrupt"),
        ("hangs", "its message cannot be shown: it takes longer than 5 s"),
        ("is no plain text", "hello"),
        ("masked", "hello"),
        ("nameless", "hello"),
        ("below", "above"),
    ],
)
def test_an_error_that_cannot_be_shown_ends_its_attempt(
    stage: Stage, how: str, message: str
) -> None:
    error = error_of(stage, jobs.raises_what_cannot_be_shown.enqueue(how))
    assert error["message"] == message
    assert error["type"].rpartition(".")[2] in ("Unshowable", "Masked", "Unknown", "ValueError")


def test_of_a_large_error_a_part_is_kept(stage: Stage) -> None:
    error = error_of(stage, jobs.raises_what_cannot_be_shown.enqueue("is large"))
    assert set(error["message"]) == {"x"}
    assert len(error["message"]) + len(error["traceback"]) < 50_000


def test_a_result_that_exits_when_it_is_written_fails_its_attempt(stage: Stage) -> None:
    error = error_of(stage, jobs.returns_what_cannot_be_written.enqueue())
    assert error["message"].endswith("it cannot be written as JSON: SystemExit: 7")


@pytest.mark.parametrize("sleeps", [False, True])
def test_a_job_that_closes_all_descriptors_costs_its_runner(stage: Stage, sleeps: bool) -> None:
    error = error_of(stage, jobs.closes_all_descriptors.enqueue(sleeps))
    assert error["message"].startswith("the process that ran it died: ")


def test_so_does_a_hook_that_closes_them(stage: Stage) -> None:
    error = error_of(stage, jobs.closes_all_in_its_hook.enqueue())
    assert error["message"].startswith("the process that ran it died: ")


def test_a_hook_whose_error_cannot_be_shown_changes_nothing(stage: Stage) -> None:
    handle = jobs.has_a_hook_that_cannot_be_shown.enqueue()
    assert error_of(stage, handle)["message"] == "no good"
    lines = [str(line["line"]) for line in stage.store.job_output(handle.id, "logs")]
    [line] = [line for line in lines if line.startswith("a hook failed: ")]
    assert line.endswith("Unshowable: its message cannot be shown: SystemExit")


def test_a_job_that_ends_its_main_thread_costs_its_runner(stage: Stage) -> None:
    handle = jobs.ends_its_main_thread.enqueue()
    assert error_of(stage, handle)["message"].startswith("the process that ran it died")
    [runner] = stage.lines(f"runner-{handle.id}")
    eventually(lambda: not stage.is_alive(int(runner)), "the runner is gone")


@pytest.mark.parametrize("hogs", [False, True], ids=["sleeps", "hogs"])
@pytest.mark.parametrize("how", ["default", "ignore", "own"])
def test_a_function_that_takes_the_interrupt_is_killed_by_the_ladder(
    stage: Stage, how: str, hogs: bool
) -> None:
    handle = stage.start(jobs.takes_the_interrupt, how, hogs)
    record = stage.stop(handle, grace="1s")
    stage.is_stopped(handle, record, "killed")
    assert set(rungs_in(record)[handle.id]) == {
        "delivered",
        "asked",
        "interrupted",
        "terminated",
        "killed",
    }
