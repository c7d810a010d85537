"""A runner reaps the orphans it has adopted, and no process that its own code waits for."""

from collections.abc import Iterator

import psutil
import pytest

from tests.apps import process_faults as jobs
from tests.system.stage import Stage, staged
from tests.workers import eventually


@pytest.fixture(scope="module")
def stage(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("worker")
    with staged(jobs.app, shared_database, folder, "process_faults", TENURE_PROCESSES="1") as stage:
        yield stage


def zombies_of(pid: int) -> list[int]:
    return [child.pid for child in psutil.Process(pid).children() if _is_zombie(child)]


def _is_zombie(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:  # reaped since it was listed
        return False


def test_orphans_are_reaped_while_their_job_runs(stage: Stage) -> None:
    handle = stage.start(jobs.leaves_orphans, 200, ends=False)
    [runner] = stage.lines(f"runner-{handle.id}")
    eventually(lambda: not zombies_of(int(runner)), "all orphans are reaped", 10)
    stage.stop(handle, force=True)


def test_orphans_are_reaped_when_their_job_is_over_and_its_runner_idle(stage: Stage) -> None:
    for _ in range(3):
        handle = jobs.leaves_orphans.enqueue(60, ends=True)
        runner = handle.result(timeout="40s")
    assert jobs.quick.enqueue().result(timeout="20s") == runner, "the runner is still in use"
    eventually(lambda: not zombies_of(runner), "all orphans are reaped", 10)


def test_zombies_are_not_counted_among_the_processes_of_a_record(stage: Stage) -> None:
    handle = stage.start(jobs.leaves_orphans, 300, ends=False)
    [runner] = stage.lines(f"runner-{handle.id}")
    assert zombies_of(int(runner))
    [member] = stage.stop(handle, force=True).members
    assert (member.pids, member.processes) == ((int(runner),), 1)


def test_children_are_left_to_the_code_that_started_them(stage: Stage) -> None:
    codes = jobs.waits_late_for_its_children.enqueue(100).result(timeout="60s")
    assert codes == [[7] * 100] * 4


def test_exit_codes_are_right_under_load(stage: Stage) -> None:
    codes = jobs.waits_at_once_for_its_children.enqueue(1000).result(timeout="100s")
    assert codes == [7] * 1000
