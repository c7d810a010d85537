"""A record of a stop says what has happened so far, and when each part of it did."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.domain.cancellation import CancellationRecord
from tenure.domain.lifecycle import Intent, Rung, State
from tenure.store.store import Store
from tests.apps import cleaning, dying
from tests.system.scene import Scene
from tests.system.stage import Jobs, Stage, rungs_in, staged
from tests.workers import eventually


@pytest.fixture(scope="module")
def stage(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("worker")
    with staged(cleaning.app, shared_database, folder, "cleaning") as stage:
        yield stage


def record_of(stage: Stage, job: Jobs) -> CancellationRecord:
    return stage.store.cancellation(job=job.id)


def test_a_stop_is_delivered_when_its_worker_heard_and_not_when_its_code_is_interrupted(
    stage: Stage,
) -> None:
    job = stage.start(cleaning.sleeps_on.using(ask_for="1h", grace="2h"))
    job.cancel("enough")
    eventually(lambda: "asked" in rungs_in(record_of(stage, job))[job.id], "the first rung")
    record = record_of(stage, job)
    reached = rungs_in(record)[job.id]
    assert set(reached) == {"delivered", "asked"}
    assert (reached["delivered"] - record.initiated_at).total_seconds() < 10
    [reason] = [why for why in stage.store.explain(job.id).reasons if why.reason == "stopping"]
    assert "its worker knows: delivered at " in reason.sentence
    assert ", asked at " in reason.sentence
    stage.stop(job, force=True)
    after = rungs_in(record_of(stage, job))[job.id]
    assert (after["delivered"], after["asked"]) == (reached["delivered"], reached["asked"])
    assert after["interrupted"] > reached["asked"]


def test_a_record_that_waits_for_a_cleanup_says_so(stage: Stage) -> None:
    job = stage.start(cleaning.closes_when_allowed)
    job.cancel("enough")
    eventually(lambda: record_of(stage, job).status == "cleaning_resources", "its status")
    assert "cleaning" in rungs_in(record_of(stage, job))[job.id]
    assert stage.watch.state(job.id) is State.RUNNING
    stage.let(f"close-{job.id}")
    record = stage.watch.record_ends(record_of(stage, job).cancellation_id)
    assert (record.status, record.job_became) == ("completed", State.CANCELLED)


def test_attempts_are_counted_apart_from_the_runner_that_they_share(stage: Stage) -> None:
    jobs = [stage.start(cleaning.sleeps_on) for _ in range(3)]
    records = [stage.stop(job) for job in jobs]
    runners = {runner for record in records for runner in record.runners_terminated}
    [worker] = {str(w.id) for w in stage.store.workers() if w.status == "alive"}
    assert all(runner.startswith(f"runner-{worker[:8]}-") for runner in runners)
    assert [record.attempts_ended[Rung.INTERRUPTED] for record in records] == [1, 1, 1]
    assert [record.tasks_cancelled for record in records] == [()] * 3


def test_a_job_that_a_drain_pauses_says_that_it_was_paused(
    database: str, store: Store, tmp_path: Path
) -> None:
    scene = Scene(database, store, tmp_path)
    settings = {"TENURE_ON_DRAIN": "pause", "TENURE_DRAIN_GRACE": "1s", "TENURE_STOP_GRACE": "2s"}
    with scene.worker(**settings) as worker:
        job = scene.start(dying.waits.new_job())
        worker.signal(signal.SIGTERM)
        worker.ends()
        assert f"job {job} is stopped and paused" in worker.log
        assert "given back" not in worker.log
    seen = store.show(job)
    assert (seen.state, seen.error_message) == (State.PAUSED, "Job was interrupted by user")
    [reason] = store.explain(job).reasons
    assert reason.sentence == "it was paused: Job was interrupted by user; resume it to continue"


def test_a_pause_has_a_record_of_its_own_kind(stage: Stage) -> None:
    job = stage.start(cleaning.sleeps_on)
    record = stage.watch.record_ends(job.pause("lunch").cancellation_id)
    assert record.cancellation_id.startswith("pause-")
    assert (record.intent, record.job_became) == (Intent.PAUSE, State.PAUSED)
    assert job.cancel("after all").cancellation_id.startswith("cancel-")
