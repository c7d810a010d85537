"""A process runner that has run a job is as new to the next, or is replaced."""

from collections.abc import Iterator

import pytest

from tests.apps import process_faults as jobs
from tests.system.stage import Stage, staged


@pytest.fixture(scope="module")
def stage(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("worker")
    with staged(jobs.app, shared_database, folder, "process_faults", TENURE_PROCESSES="1") as stage:
        yield stage


def test_what_a_job_changes_in_its_process_does_not_reach_the_next(stage: Stage) -> None:
    before = jobs.changes_everything.enqueue().result(timeout="30s")
    after = jobs.looks_around.enqueue().result(timeout="30s")
    assert after == before


@pytest.mark.parametrize("what", ["limit", "priority", "stream", "zombies"])
def test_a_process_that_cannot_be_set_back_is_replaced_and_its_job_has_completed(
    stage: Stage, what: str
) -> None:
    handle = jobs.changes_for_ever.enqueue(what)
    runner = handle.result(timeout="30s")
    behind = [jobs.quick.enqueue() for _ in range(3)]
    assert runner not in [job.result(timeout="30s") for job in behind]
    assert stage.store.show(handle.id).crashes == 0
    assert f"(pid {runner}) is replaced: " in stage.worker.log
    assert [stage.store.show(job.id).attempt for job in behind] == [1, 1, 1]
