"""What a job started is gone with the job, also where only its main thread had ended before."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.domain.lifecycle import State
from tests.apps import process_faults as jobs
from tests.runtime.half_dead import runs, states_of_threads
from tests.system.stage import Jobs, Stage, staged
from tests.workers import eventually

HOW = ["child", "daemon"]


@pytest.fixture
def stage(shared_database: str, tmp_path: Path) -> Iterator[Stage]:
    with staged(jobs.app, shared_database, tmp_path, "process_faults") as stage:
        yield stage


def start_writer(stage: Stage, how: str) -> tuple[Jobs, int]:
    """A job that runs, and the process it started."""
    handle = stage.start(jobs.starts_a_writer, how, ends=False)
    writer = int(eventually(lambda: stage.lines(f"lines-{handle.id}"))[0])
    assert "Z" in states_of_threads(writer)
    assert runs(writer)
    return handle, writer


def has_stopped(stage: Stage, handle: Jobs, writer: int) -> bool:
    """The kernel lists no thread of it, and its file no longer grows."""
    before = len(stage.lines(f"lines-{handle.id}"))
    time.sleep(0.1)
    return not runs(writer) and len(stage.lines(f"lines-{handle.id}")) == before


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("force", [False, True], ids=["graceful", "forced"])
def test_a_stop_ends_it_before_the_job_is_cancelled(stage: Stage, how: str, force: bool) -> None:
    handle, writer = start_writer(stage, how)
    record = stage.stop(handle, **({"force": True} if force else {"grace": "10s"}))
    assert has_stopped(stage, handle, writer)
    assert stage.watch.state(handle.id) is State.CANCELLED
    [member] = record.members
    assert member.processes == 2, "the runner and the writer"


@pytest.mark.parametrize("how", HOW)
def test_a_job_that_completes_leaves_none(stage: Stage, how: str) -> None:
    handle = jobs.starts_a_writer.enqueue(how, ends=True)
    stage.watch.becomes(handle.id, State.COMPLETED)
    writer = int(stage.lines(f"lines-{handle.id}")[0])
    assert has_stopped(stage, handle, writer)


@pytest.mark.parametrize("how", HOW)
def test_the_death_of_the_guard_ends_it_before_its_job_runs_again(stage: Stage, how: str) -> None:
    handle, writer = start_writer(stage, how)
    stage.worker.guard.kill()
    stage.runs(handle.id, times=2)
    assert not runs(writer)
    written = stage.lines(f"lines-{handle.id}").count(str(writer))
    time.sleep(0.1)
    assert stage.lines(f"lines-{handle.id}").count(str(writer)) == written
    stage.stop(handle, force=True)


@pytest.mark.parametrize("how", HOW)
def test_the_death_of_the_keeper_ends_it(stage: Stage, how: str) -> None:
    handle, writer = start_writer(stage, how)
    guard = stage.worker.guard
    stage.worker.signal(signal.SIGKILL)
    stage.worker.ends()
    eventually(lambda: not runs(guard.pid), "the guard has ended", 10)
    assert has_stopped(stage, handle, writer)
