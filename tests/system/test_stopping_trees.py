"""A job is stopped with its children and its dependents, all on one record."""

from collections.abc import Iterator
from typing import Any

import pytest

from tenure.domain.lifecycle import State
from tests.apps import stopping
from tests.system.stage import Jobs, Stage, rungs_in, staged
from tests.workers import eventually


@pytest.fixture(scope="module")
def stage(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("worker")
    with staged(stopping.app, shared_database, folder, "stopping") as stage:
        yield stage


def children_of(stage: Stage, parent: Jobs) -> list[Jobs]:
    """Return the children of a job once their code runs."""
    children = parent.children()
    for child in children:
        stage.runs(child.id)
    return children


def test_children_in_several_runners_go_with_their_parent(stage: Stage) -> None:
    parent = stage.start(stopping.runs_beside_its_children)
    after = stopping.quick.using(after=[parent.id]).enqueue()
    children = children_of(stage, parent)
    record = stage.stop(parent)
    for handle in (parent, *children):
        stage.is_stopped(handle, record, "interrupted")
        assert "interrupted" in rungs_in(record)[handle.id]
    assert stage.watch.state(after.id) is State.CANCELLED
    assert sorted(record.tasks_cancelled) == sorted([after.id, *(c.id for c in children)])
    runners = {member.runner for member in record.members if member.job_id != after.id}
    assert len(runners) == 2, "a loop runner and a process"


def test_children_go_with_a_parent_that_waits_for_them(stage: Stage) -> None:
    parent = stage.start(stopping.waits_for_its_children)
    children = children_of(stage, parent)
    eventually(lambda: stage.watch.state(parent.id) is State.PENDING, "it gave its slot back")
    record = stage.stop(parent)
    for child in children:
        stage.is_stopped(child, record, "interrupted")
    assert stage.watch.state(parent.id) is State.CANCELLED
    assert record.status == "completed"


def test_a_tree_with_one_that_will_not_stop_is_cancelled_when_that_one_is_gone(
    stage: Stage,
) -> None:
    """A parent becomes cancelled only when no descendant runs any more."""
    parent = stage.start(stopping.runs_beside_its_children)
    children = children_of(stage, parent)
    stubborn = stage.start(stopping.swallows_cancellation.using(parent=parent.id))
    asked = parent.cancel(reason="enough", grace="1h")
    for child in children:
        stage.watch.becomes(child.id, State.CANCELLED)
    assert stage.watch.state(parent.id) is not State.CANCELLED
    parent.cancel(reason="now", force=True)
    record = stage.watch.record_ends(asked.cancellation_id)
    stage.is_stopped(stubborn, record, "killed")
    assert stage.watch.state(parent.id) is State.CANCELLED
    assert record.tasks_open == ()


def test_one_child_is_stopped_alone(stage: Stage) -> None:
    parent = stage.start(stopping.runs_beside_its_children)
    first, second = children_of(stage, parent)
    stage.is_stopped(first, stage.stop(first), "interrupted")
    assert {stage.watch.state(parent.id), stage.watch.state(second.id)} == {State.RUNNING}
    stage.stop(parent)
    stage.nothing_is_left(parent.id, first.id, second.id)


def test_without_a_cascade_what_comes_after_is_left_alone(stage: Stage) -> None:
    parent = stage.start(stopping.sleeps_async)
    after: Any = stopping.quick.using(after=[parent.id]).enqueue()
    record = stage.stop(parent, cascade=False)
    stage.is_stopped(parent, record, "interrupted")
    assert stage.watch.state(after.id) is State.PENDING
    after.cancel(reason="enough")


def test_a_tree_is_paused_and_resumed(stage: Stage) -> None:
    parent = stage.start(stopping.runs_beside_its_children)
    children = children_of(stage, parent)
    record = stage.watch.record_ends(parent.pause(reason="later").cancellation_id)
    for handle in (parent, *children):
        stage.is_stopped(handle, record, "interrupted", state=State.PAUSED)
    parent.resume()
    stage.runs(parent.id, times=2)
    assert parent.children() == children
    record = stage.stop(parent)
    for handle in (parent, *children):
        stage.watch.becomes(handle.id, State.CANCELLED)
    stage.nothing_is_left(parent.id, *(child.id for child in children))
