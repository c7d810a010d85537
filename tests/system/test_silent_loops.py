"""A loop that does not answer, and that no coroutine holds, is replaced with all it runs."""

from collections.abc import Iterator

import pytest

from tenure.domain.lifecycle import State
from tests.apps import silent
from tests.system.stage import Stage, staged


@pytest.fixture(scope="module")
def stage(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("worker")
    with staged(silent.app, shared_database, folder, "silent") as stage:
        yield stage


def test_a_callback_that_blocks_for_ever_fails_its_job_and_no_neighbour(stage: Stage) -> None:
    neighbour = stage.start(silent.neighbour)
    blocker = stage.start(silent.blocks_by_a_callback)
    stage.worker.says("does not answer, and no job holds it: killed")
    stage.watch.becomes(blocker.id, State.FAILED, within=60)
    stage.let("neighbours-may-end")
    assert neighbour.result(timeout="30s") == 1, "a neighbour spent an attempt"
    assert "the process that ran it died" in (stage.store.show(blocker.id).error_message or "")


def test_a_callback_that_blocks_for_a_while_costs_nobody_anything(stage: Stage) -> None:
    handle = silent.pauses_by_a_callback.enqueue(3)
    assert handle.result(timeout="30s") == "done"
    assert stage.lines(f"started-{handle.id}") == ["1"]
