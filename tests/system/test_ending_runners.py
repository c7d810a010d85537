"""Listing the runners of a job, and ending one by its id; its jobs continue elsewhere."""

from collections.abc import Iterator

import psutil
import pytest

from tenure.domain.lifecycle import State
from tenure.store.results import JobRunner
from tests.apps import stopping
from tests.system.stage import Jobs, Stage, staged
from tests.workers import eventually


@pytest.fixture(scope="module")
def stage(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("worker")
    with staged(stopping.app, shared_database, folder, "stopping") as stage:
        yield stage


def runner_of(job: Jobs) -> JobRunner:
    """Return the runner of a job as soon as its worker has reported it."""

    def told() -> list[JobRunner]:
        return [it for it in job.runners() if it.runner is not None]

    [runner] = eventually(told, "its worker beats")
    return runner


def is_given_back(stage: Stage, job: Jobs) -> None:
    """Check that the job runs again and that its first run was not charged."""
    eventually(lambda: len(stage.lines(f"started-{job.id}")) == 2, f"job {job.id} runs again")
    seen = stage.store.show(job.id)
    assert (seen.state, seen.attempt, seen.crashes) == (State.RUNNING, 1, 0)


def test_all_jobs_in_a_runner_that_is_ended_are_given_back(stage: Stage) -> None:
    job, neighbour = stage.start(stopping.sleeps_async), stage.start(stopping.sleeps_async)
    runner = runner_of(neighbour)
    assert (runner.jobs, runner.kind) == ((neighbour.id,), "async")
    eventually(lambda: runner_of(job).others == 1, "both share a runner")
    process = psutil.Process(runner.pid)
    answer = stopping.app.end_runner(str(runner.runner), "it leaks", by="ada")
    assert set(answer.jobs) == {job.id, neighbour.id}
    is_given_back(stage, job)
    is_given_back(stage, neighbour)
    eventually(lambda: not process.is_running(), "the runner is gone")
    assert runner_of(job).runner != runner.runner
    noted = stage.store.audit_log(n=1)[0]
    assert (noted.actor, noted.verb, noted.subject) == ("ada", "end_runner", "runner")
    for one in (job, neighbour):
        stage.stop(one, force=True)


def test_a_runner_that_does_not_listen_is_killed_by_force(stage: Stage) -> None:
    job = stage.start(stopping.swallows_interrupts)
    runner = runner_of(job)
    stopping.app.end_runner(str(runner.runner), force=True)
    is_given_back(stage, job)
    stage.stop(job, force=True)
