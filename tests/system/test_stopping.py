"""Code of every kind is stopped for good: by what rung, and with nothing left of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.domain.lifecycle import State
from tests.apps import stopping
from tests.system.stage import Jobs, Stage, runners_of, staged
from tests.workers import eventually


@pytest.fixture(scope="module")
def stage(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("worker")
    with staged(stopping.app, shared_database, folder, "stopping") as stage:
        yield stage


@pytest.fixture
def neighbours(stage: Stage) -> Iterator[list[Jobs]]:
    """Twenty jobs in the same event loop, which end when they may."""
    (stage.folder / "neighbours-may-end").unlink(missing_ok=True)
    handles = stopping.neighbour.enqueue_many([{}] * 20)
    for handle in handles:
        stage.runs(handle.id)
    yield handles
    stage.let("neighbours-may-end")
    for handle in handles:
        assert handle.result(timeout="20s") == 1, "a neighbour spent an attempt"


def times_started(stage: Stage, handles: list[Jobs]) -> set[int]:
    return {len(stage.lines(f"started-{handle.id}")) for handle in handles}


# Coroutines.


def test_a_coroutine_that_sleeps(stage: Stage, neighbours: list[Jobs]) -> None:
    handle = stage.start(stopping.sleeps_async)
    stage.is_stopped(handle, stage.stop(handle), "interrupted")
    assert times_started(stage, neighbours) == {1}


@pytest.mark.parametrize(
    "name", ["blocks_its_loop", "spins", "blocks_in_a_task", "matches_without_end"]
)
def test_code_that_holds_its_event_loop_is_interrupted_without_harm_to_its_neighbours(
    stage: Stage, neighbours: list[Jobs], name: str
) -> None:
    handle = stage.start(getattr(stopping, name))
    stage.is_stopped(handle, stage.stop(handle, grace="20s"), "interrupted")
    stage.let("neighbours-may-end")
    for neighbour in neighbours:
        neighbour.wait(timeout="20s")
    assert times_started(stage, neighbours) == {1}


def test_c_code_in_a_coroutine_is_killed_and_its_neighbours_are_given_back_unspent(
    stage: Stage, neighbours: list[Jobs]
) -> None:
    handle = stage.start(stopping.hogs_in_a_coroutine)
    stage.is_stopped(handle, stage.stop(handle, grace="1s"), "killed")
    for neighbour in neighbours:
        stage.runs(neighbour.id, times=2)
    jobs = [stage.store.show(neighbour.id) for neighbour in neighbours]
    assert {(job.attempt, job.crashes) for job in jobs} == {(1, 0)}


def test_code_that_swallows_cancellation_is_killed_at_its_deadline(
    stage: Stage, neighbours: list[Jobs]
) -> None:
    handle = stage.start(stopping.swallows_cancellation)
    record = stage.stop(handle, grace="1s")
    stage.is_stopped(handle, record, "killed")
    assert stage.lines(f"swallowed-{handle.id}")
    assert record.duration_seconds >= 0.9


@pytest.mark.parametrize("name", ["leaves_a_thread", "waits_for_a_thread", "leaves_a_task"])
def test_a_coroutine_has_not_stopped_before_its_threads_and_tasks_have(
    stage: Stage, name: str
) -> None:
    handle = stage.start(getattr(stopping, name))
    [runner] = stage.lines(f"runner-{handle.id}")
    record = stage.stop(handle, grace="1s")
    assert not stage.is_alive(int(runner)), "it was the only way to end them"
    stage.is_stopped(handle, record, "interrupted", "terminated", "killed")


def test_a_thread_that_a_completed_coroutine_leaves_costs_nobody_anything(
    stage: Stage, neighbours: list[Jobs]
) -> None:
    handle = stage.start(stopping.talks_and_leaves_a_thread)
    assert handle.result(timeout="20s") == "left"
    stage.worker.says(f"job {handle.id} has ended, but not all that it started: thread")
    [left] = handle.job().cleanup["left_behind"]
    assert left.startswith("thread ")
    stage.let("neighbours-may-end")


def test_a_cancel_that_comes_after_the_last_step_does_not_reach_the_clean_up(stage: Stage) -> None:
    handle = stage.start(stopping.is_cancelled_too_late)
    assert handle.result(timeout="20s") == "returned"
    stage.nothing_is_left(handle.id)


# Functions.


@pytest.mark.parametrize(
    "name", ["sleeps", "reads_a_socket", "function_matches_without_end", "function_leaves_a_thread"]
)
def test_a_function_that_waits_is_interrupted(stage: Stage, name: str) -> None:
    handle = stage.start(getattr(stopping, name))
    stage.is_stopped(handle, stage.stop(handle), "interrupted")


@pytest.mark.parametrize("name", ["hogs", "swallows_interrupts"])
def test_a_function_that_will_not_hear_is_killed_at_its_grace(stage: Stage, name: str) -> None:
    handle = stage.start(getattr(stopping, name))
    record = stage.stop(handle, grace="1s")
    stage.is_stopped(handle, record, "killed")
    assert record.duration_seconds >= 0.9


def test_a_function_counts_as_completed_only_when_its_thread_has_ended(stage: Stage) -> None:
    handle = stopping.returns_with_a_thread.enqueue()
    assert handle.result(timeout="20s") == "left"
    stage.nothing_is_left(handle.id)


# Threads.


def test_a_thread_is_asked(stage: Stage) -> None:
    handle = stage.start(stopping.thread_asks)
    stage.is_stopped(handle, stage.stop(handle), "asked", "interrupted")


def test_a_thread_that_will_not_end_is_killed_with_its_runner(stage: Stage) -> None:
    handle = stage.start(stopping.thread_sleeps)
    stage.is_stopped(handle, stage.stop(handle, grace="1s"), "killed")


# Processes of jobs.


@pytest.mark.parametrize("name", ["has_a_grandchild", "has_a_grandchild_async"])
def test_a_grandchild_in_a_session_of_its_own_goes_with_its_job(
    stage: Stage, neighbours: list[Jobs], name: str
) -> None:
    handle = stage.start(getattr(stopping, name))
    eventually(lambda: len(stage.strangers()) == 1, "those between are gone")
    stage.is_stopped(handle, stage.stop(handle), "interrupted")
    assert times_started(stage, neighbours) == {1}


def test_a_hog_and_its_grandchild_are_killed(stage: Stage) -> None:
    handle = stage.start(stopping.hogs_with_a_grandchild)
    stage.is_stopped(handle, stage.stop(handle, grace="1s"), "killed")


def test_a_fork_storm_is_stopped(stage: Stage) -> None:
    handle = stage.start(stopping.forks_without_end)
    assert len(stage.strangers()) >= 10
    stage.is_stopped(handle, stage.stop(handle), "interrupted")


def test_the_temporary_directories_of_jobs_that_were_killed_are_gone(stage: Stage) -> None:
    handles = [stage.start(stopping.hogs_in_a_coroutine), stage.start(stopping.hogs)]
    for handle in handles:
        stage.stop(handle, force=True)
    folders = [Path(line) for one in handles for line in stage.lines(f"temp-{one.id}")]
    eventually(lambda: not any(map(Path.exists, folders)), f"{folders} are gone", within=5)


# Afterwards.


def test_the_worker_is_as_good_as_before(stage: Stage) -> None:
    assert stopping.quick.enqueue().result(timeout="20s") == "done"
    assert stopping.quick_function.enqueue().result(timeout="20s") == "done"
    assert stage.store.statistics().by_status.get("running", 0) == 0
    eventually(lambda: len(runners_of(stage.worker)) <= 6, "no runner that nobody needs")
    assert stage.watch.state(1) is State.COMPLETED
