"""How far a stop goes, and when: force, asking first, the last allowed rung, shields."""

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tenure.control.task import Task
from tenure.domain.lifecycle import Rung, State, Status
from tests.apps import stopping
from tests.system.stage import Jobs, Stage, rungs_in, staged
from tests.workers import eventually

PAGED = [stopping.finishes_its_page, stopping.function_finishes_its_page]
UNIMPRESSED = [stopping.ends_when_it_may, stopping.function_ends_when_it_may]
SHIELDED = [stopping.shields, stopping.function_shields, stopping.shields_while_it_blocks]


def named(task: Task[..., Any]) -> str:
    return task.__name__


@pytest.fixture(scope="module")
def stage(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("worker")
    with staged(stopping.app, shared_database, folder, "stopping") as stage:
        yield stage


# Force.


@pytest.mark.parametrize(
    "task",
    [
        stopping.sleeps_async,
        stopping.swallows_cancellation,
        stopping.hogs_in_a_coroutine,
        stopping.sleeps,
        stopping.hogs,
        stopping.has_a_grandchild,
        stopping.thread_sleeps,
    ],
    ids=named,
)
def test_force_goes_straight_to_kill(stage: Stage, task: Task[..., Any]) -> None:
    handle = stage.start(task)
    record = stage.stop(handle, force=True)
    stage.is_stopped(handle, record, "killed", "interrupted")
    assert record.force
    assert record.duration_seconds < 10, "its grace is 30 s"
    if task.executor == "process":
        assert set(rungs_in(record)[handle.id]) == {"delivered", "asked", "killed"}


def test_force_escalates_a_graceful_stop_that_is_under_way(stage: Stage) -> None:
    handle = stage.start(stopping.swallows_cancellation)
    asked = handle.cancel(reason="enough", grace="1h")
    eventually(lambda: stage.lines(f"swallowed-{handle.id}"), "it was interrupted")
    assert handle.status() is Status.CANCELLING
    again = handle.cancel(reason="now", force=True)
    assert (again.cancellation_id, again.again) == (asked.cancellation_id, True)
    stage.is_stopped(handle, stage.watch.record_ends(asked.cancellation_id), "killed")


def test_less_grace_escalates_too(stage: Stage) -> None:
    handle = stage.start(stopping.swallows_interrupts)
    asked = handle.cancel(reason="enough", grace="1h")
    eventually(lambda: stage.lines(f"swallowed-{handle.id}"), "it was interrupted")
    handle.cancel(reason="sooner", grace="500ms")
    stage.is_stopped(handle, stage.watch.record_ends(asked.cancellation_id), "killed")


def test_asking_again_changes_nothing(stage: Stage) -> None:
    handle = stage.start(stopping.swallows_cancellation)
    first, second = (handle.cancel(reason="enough", grace="1500ms") for _ in range(2))
    assert (second.cancellation_id, second.again) == (first.cancellation_id, True)
    stage.is_stopped(handle, stage.watch.record_ends(first.cancellation_id), "killed")


# Asking first.


@pytest.mark.parametrize("task", PAGED, ids=named)
def test_who_is_asked_first_finishes_its_page(stage: Stage, task: Task[..., Any]) -> None:
    handle = stage.start(task.using(ask_for="20s", grace="30s"))
    record = stage.stop(handle)
    stage.is_stopped(handle, record, "asked")
    assert stage.lines(f"heard-{handle.id}") == ["enough"]
    pages = len(handle.partials()[-1])
    assert pages >= 1, "what it returned is kept as its last partial result"
    assert "interrupted" not in rungs_in(record)[handle.id]


@pytest.mark.parametrize("task", PAGED, ids=named)
def test_a_stop_says_how_long_it_asks(stage: Stage, task: Task[..., Any]) -> None:
    handle = stage.start(task)
    asked = stage.store.stop(handle.id, reason="enough", ask_for=timedelta(seconds=20))
    assert asked.ask_for == 20
    stage.is_stopped(handle, stage.watch.record_ends(asked.cancellation_id), "asked")
    assert stage.lines(f"heard-{handle.id}") == ["enough"]


def test_who_does_not_hear_is_interrupted_after_being_asked(stage: Stage) -> None:
    handle = stage.start(stopping.sleeps_async.using(ask_for="1s", grace="20s"))
    record = stage.stop(handle)
    stage.is_stopped(handle, record, "interrupted")
    assert record.duration_seconds >= 1


# The last allowed rung.


def ends_by_itself(stage: Stage, handle: Jobs, cancellation: str, last: str) -> None:
    """Check that the job runs long past its grace, ends by itself, and is then cancelled."""
    if last == "interrupted":
        eventually(lambda: stage.lines(f"swallowed-{handle.id}"), "it was interrupted")
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        assert handle.status() is Status.CANCELLING
        time.sleep(0.05)
    assert last == "interrupted" or not stage.lines(f"swallowed-{handle.id}")
    stage.let(f"go-on-{handle.id}")
    stage.is_stopped(handle, stage.watch.record_ends(cancellation), last)
    assert len(stage.lines(f"started-{handle.id}")) == 1


@pytest.mark.parametrize("last", ["asked", "interrupted"])
@pytest.mark.parametrize("task", UNIMPRESSED, ids=named)
def test_a_task_is_never_killed_if_it_says_so(
    stage: Stage, task: Task[..., Any], last: Any
) -> None:
    handle = stage.start(task.using(last_rung=last, grace="200ms"))
    asked = handle.cancel(reason="enough")
    ends_by_itself(stage, handle, asked.cancellation_id, last)


@pytest.mark.parametrize("last", ["asked", "interrupted"])
@pytest.mark.parametrize("task", UNIMPRESSED, ids=named)
def test_a_stop_never_kills_if_it_says_so(stage: Stage, task: Task[..., Any], last: Any) -> None:
    handle = stage.start(task)
    asked = handle.cancel(reason="enough", last_rung=last, grace="200ms")
    ends_by_itself(stage, handle, asked.cancellation_id, last)


def test_a_cooperative_stop_asks_for_the_whole_grace_and_then_interrupts(stage: Stage) -> None:
    handle = stage.start(stopping.ends_when_it_may)
    asked = handle.cancel(reason="enough", strategy="cooperative", grace="1s")
    ends_by_itself(stage, handle, asked.cancellation_id, "interrupted")
    reached = rungs_in(stage.watch.record_ends(asked.cancellation_id))[handle.id]
    assert reached["interrupted"] - reached["asked"] > timedelta(seconds=0.9), (
        "the rest of the second is its way to the worker"
    )


def test_a_job_that_was_only_asked_and_never_heard_keeps_its_result(stage: Stage) -> None:
    handle = stage.start(stopping.never_listens)
    asked = handle.cancel(reason="enough", last_rung="asked", grace="100ms")
    eventually(lambda: f"job {handle.id} is asked" in stage.worker.log, "the first rung")
    stage.let(f"go-on-{handle.id}")
    record = stage.watch.record_ends(asked.cancellation_id)
    assert record.job_became is State.COMPLETED
    assert handle.result() == "done all the same"
    stage.nothing_is_left(handle.id)


def test_force_kills_also_what_says_that_it_is_never_killed(stage: Stage) -> None:
    handle = stage.start(stopping.ends_when_it_may.using(last_rung="asked"))
    asked = handle.cancel(reason="enough")
    handle.cancel(reason="now", force=True)
    record = stage.watch.record_ends(asked.cancellation_id)
    stage.is_stopped(handle, record, "killed")
    assert record.last_rung is Rung.KILLED


# Grace.


@pytest.mark.parametrize("where", ["task", "stop"])
def test_the_grace_is_the_tasks_or_the_stops(stage: Stage, where: str) -> None:
    task = stopping.swallows_interrupts
    task = task.using(grace="1h" if where == "stop" else "1s")
    handle = stage.start(task)
    record = stage.stop(handle, **({"grace": "1s"} if where == "stop" else {}))
    stage.is_stopped(handle, record, "killed")
    assert record.duration_seconds >= 1
    reached = rungs_in(record)[handle.id]
    rungs = [name for name in sorted(reached, key=reached.__getitem__) if name in list(Rung)]
    assert rungs == ["asked", "interrupted", "terminated", "killed"]


# Shields.


@pytest.mark.parametrize("task", SHIELDED, ids=named)
def test_a_stop_waits_for_what_is_shielded(stage: Stage, task: Task[..., Any]) -> None:
    handle = stage.start(task)
    asked = handle.cancel(reason="enough", grace="20s")
    eventually(lambda: f"job {handle.id} is interrupted" in stage.worker.log, "the second rung")
    assert handle.status() is Status.CANCELLING
    stage.let(f"go-on-{handle.id}")
    stage.is_stopped(handle, stage.watch.record_ends(asked.cancellation_id), "interrupted")
    assert stage.lines(f"shielded-{handle.id}") == ["whole"]


@pytest.mark.parametrize("task", [stopping.shields, stopping.function_shields], ids=named)
def test_no_shield_holds_a_kill(stage: Stage, task: Task[..., Any]) -> None:
    handle = stage.start(task)
    stage.is_stopped(handle, stage.stop(handle, grace="1s"), "killed")
    assert not stage.lines(f"shielded-{handle.id}")


# Before it runs.


def test_a_job_that_waits_for_its_runner_is_stopped_as_well(stage: Stage) -> None:
    """Each job needs a process of its own, which must be started first."""
    busy = [stage.start(stopping.sleeps) for _ in range(2)]
    for handle in busy:
        handle.cancel(reason="enough", force=True)
    waiting = [stopping.sleeps.enqueue() for _ in range(2)]
    for handle in waiting:
        eventually(lambda handle=handle: stage.watch.state(handle.id) is State.RUNNING)  # type: ignore[misc]
        record = stage.stop(handle, grace="20s")
        assert stage.watch.state(handle.id) is State.CANCELLED
        assert record.duration_seconds < 10, "it was interrupted, not killed at its grace"
    stage.nothing_is_left(*(handle.id for handle in waiting))
