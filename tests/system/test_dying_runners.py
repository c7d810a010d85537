"""Runners that die: their jobs are back at once, and the job on the CPU is charged."""

import os
import signal
from collections.abc import Iterator

import pytest

from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.apps import dying
from tests.conftest import wipe
from tests.system.scene import LONG, Scene, runner_of
from tests.workers import RUNNER_STARTS, RunningWorker, eventually


@pytest.fixture(autouse=True, params=RUNNER_STARTS)
def runner_start(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_RUNNER_START", request.param)


@pytest.fixture(scope="module")
def scene(
    shared_database: str, shared_store: Store, tmp_path_factory: pytest.TempPathFactory
) -> Scene:
    wipe(shared_database)
    return Scene(shared_database, shared_store, tmp_path_factory.mktemp("runners"))


@pytest.fixture(scope="module")
def worker(scene: Scene) -> Iterator[RunningWorker]:
    # With such a poll interval, nothing here can depend on polling.
    with scene.worker(TENURE_POLL="1h", **LONG) as worker:
        yield worker


@pytest.fixture(autouse=True)
def same_worker(scene: Scene, worker: RunningWorker) -> Iterator[None]:
    """Check after each test that the worker is the same and that no lease has expired."""
    before = scene.only_worker()
    yield
    assert scene.only_worker() == before
    assert scene.store.statistics().recovered == 0


def kill(worker: RunningWorker, run: str) -> None:
    os.kill(runner_of(worker, run).pid, signal.SIGKILL)


def test_a_process_that_is_killed_runs_its_job_again_at_once(
    scene: Scene, worker: RunningWorker
) -> None:
    job = scene.start(dying.sleeps_first_in_a_process.new_job())
    kill(worker, scene.runs(job)[0])
    [done] = scene.completes(job)
    assert (done.result, done.crashes) == (2, 1)
    assert scene.outcomes(job) == ["crashed", "completed"]
    assert len(scene.runs(job)) == 2


def test_a_segfault_is_a_crash_like_any_other(scene: Scene, worker: RunningWorker) -> None:
    [done] = scene.completes(scene.enqueue(dying.segfaults_first.new_job()))
    assert (done.result, done.crashes) == (2, 1)
    assert "SIGSEGV" in str(done.attempts[0]["error"])


def test_in_a_loop_the_job_on_the_cpu_is_charged_and_its_neighbours_are_not(
    scene: Scene, worker: RunningWorker
) -> None:
    neighbours = [scene.start(dying.sleeps_first.new_job()) for _ in range(4)]
    hog = scene.start(dying.computes_first.new_job())
    kill(worker, scene.runs(hog)[0])
    [charged, *others] = scene.completes(hog, *neighbours)
    assert (charged.result, charged.crashes) == (2, 1)
    assert [(job.result, job.crashes) for job in others] == [(1, 0)] * 4
    assert scene.outcomes(hog) == ["crashed", "completed"]
    assert [scene.outcomes(job) for job in neighbours] == [["released"]] * 4


def test_when_nobody_was_on_the_cpu_all_are_given_back_once_and_then_run_alone(
    scene: Scene, worker: RunningWorker
) -> None:
    jobs = [scene.start(dying.sleeps_first.new_job()) for _ in range(3)]
    for job in jobs:
        eventually((scene.folder / f"asleep-{job}").exists)
    kill(worker, scene.runs(jobs[0])[0])
    for done in scene.completes(*jobs):
        assert (done.result, done.crashes) == (1, 1)
        assert scene.outcomes(done.id) == ["released"]
    again = [scene.runs(job)[1].split()[1] for job in jobs]
    assert len(set(again)) == len(jobs), "each had a runner of its own"


@pytest.mark.parametrize("poison", [dying.kills_itself, dying.kills_itself_async])
def test_a_poison_job_fails_after_exactly_its_attempts(
    scene: Scene, worker: RunningWorker, poison: dying.AnyTask
) -> None:
    innocent = [scene.start(dying.sleeps_first.new_job()) for _ in range(5)]
    job = scene.enqueue(poison.new_job())
    scene.watch.becomes(job, State.FAILED, within=30)
    assert len(scene.runs(job)) == 3
    assert scene.outcomes(job) == ["crashed"] * 3
    assert scene.store.show(job).crashes == 3
    if poison is dying.kills_itself:
        assert all(len(scene.runs(one)) == 1 for one in innocent), "it had a process of its own"
        kill(worker, scene.runs(innocent[0])[0])
    assert {done.result for done in scene.completes(*innocent)} == {1}
