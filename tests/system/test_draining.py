"""Leaving: what runs is finished or handed over, and nothing stays with a worker that is gone."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from tenure.domain.lifecycle import State
from tenure.runtime.exit_code import ExitCode
from tenure.store.store import Store
from tests.apps import dying
from tests.system.scene import SHORT, Scene
from tests.workers import ROOT, RunningWorker, eventually, is_gone

NOWHERE = "postgresql://postgres@127.0.0.1:1/nowhere"


@pytest.fixture
def scene(database: str, store: Store, tmp_path: Path) -> Scene:
    return Scene(database, store, tmp_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_asked_to_leave_finishes_what_runs_and_takes_nothing_new(
    scene: Scene, number: signal.Signals
) -> None:
    with scene.worker(**SHORT) as worker:
        jobs = [scene.start(dying.waits.new_job()), scene.start(dying.waits_in_a_process.new_job())]
        worker.signal(number)
        [seen] = eventually(lambda: [w for w in scene.store.workers() if w.status == "draining"])
        assert {job.job_id for job in seen.jobs} == set(jobs), "what it waits for is visible"
        late = scene.enqueue(dying.quick.new_job())
        beats = worker.log.count("beat of worker")
        eventually(lambda: worker.log.count("beat of worker") > beats + 15, "three leases pass")
        assert scene.watch.state(late) is State.PENDING
        scene.let_go(*jobs)
        assert worker.ends() == ExitCode.DRAINED
    assert [scene.store.show(job).result for job in jobs] == [1, 1]
    assert [len(scene.runs(job)) for job in jobs] == [1, 1]
    assert scene.store.statistics().recovered == 0
    assert scene.watch.state(late) is State.PENDING


def test_a_job_can_be_stopped_while_its_worker_drains(scene: Scene) -> None:
    with scene.worker() as worker:
        stopped = scene.start(dying.waits.new_job())
        other = scene.start(dying.waits_in_a_process.new_job())
        worker.signal(signal.SIGTERM)
        worker.says("draining: SIGTERM")
        record = scene.store.stop(stopped, reason="enough")
        scene.watch.record_ends(record.cancellation_id)
        assert scene.watch.state(stopped) is State.CANCELLED
        scene.let_go(other)
        assert worker.ends() == ExitCode.DRAINED


@pytest.mark.parametrize("signals", [1, 2])
def test_an_unfinished_job_is_released_and_another_worker_continues_from_its_checkpoint(
    scene: Scene, signals: int
) -> None:
    grace = {1: "6s", 2: "60s"}[signals]
    with scene.worker(TENURE_DRAIN_GRACE=grace) as worker:
        job = scene.start(dying.steps.new_job(5))
        stuck = scene.start(dying.waits_in_a_process.new_job())
        steps = scene.folder / f"steps-{job}"
        eventually(lambda: scene.store.show(job).checkpoint == {"done": 5}, "all steps are done")
        for _ in range(signals):
            worker.signal(signal.SIGTERM)
            worker.says("draining: SIGTERM")
        assert worker.ends() == {1: ExitCode.HANDED_OVER, 2: ExitCode.HURRIED}[signals]
    for id_ in (job, stuck):
        seen = scene.store.show(id_)
        assert (seen.state, seen.attempt, seen.crashes) == (State.PENDING, 0, 0)
        assert scene.outcomes(id_) == ["released"]
    assert scene.store.show(job).checkpoint == {"done": 5}
    scene.let_go(job, stuck)
    with scene.worker() as second:
        assert [done.result for done in scene.completes(job, stuck)] == [1, 1]
        assert len(steps.read_text().splitlines()) == 5, "no step was done twice"
        assert second.drain() == ExitCode.DRAINED
    assert scene.store.statistics().recovered == 0


def test_what_does_not_finish_is_paused_if_the_settings_say_so(scene: Scene) -> None:
    with scene.worker(TENURE_DRAIN_GRACE="6s", TENURE_ON_DRAIN="pause") as worker:
        job = scene.start(dying.steps.new_job(3))
        eventually(lambda: scene.store.show(job).checkpoint == {"done": 3})
        assert worker.drain() == ExitCode.HANDED_OVER
    paused = scene.store.show(job)
    assert paused.state is State.PAUSED
    assert paused.checkpoint == {"done": 3}
    scene.store.resume(job)
    scene.let_go(job)
    with scene.worker() as second:
        scene.completes(job)
        assert second.drain() == ExitCode.DRAINED


def test_a_worker_can_be_asked_to_leave_through_the_database(scene: Scene) -> None:
    with scene.worker() as worker:
        job = scene.start(dying.waits.new_job())
        scene.store.drain(UUID(scene.only_worker()), "host goes away", by="ops")
        worker.says("draining: ")
        scene.let_go(job)
        assert worker.ends() == ExitCode.DRAINED
    assert scene.watch.state(job) is State.COMPLETED


def test_a_worker_that_waits_for_its_database_can_be_asked_to_leave(scene: Scene) -> None:
    with scene.starting(url=NOWHERE) as worker:
        worker.says("cannot be reached")
        guard = worker.guard
        assert worker.drain() == ExitCode.DRAINED
        assert is_gone(guard)


# At every point between the start of a worker and the start of its jobs


@pytest.mark.parametrize("first", [0, 3, 6, 9, 12])
def test_a_signal_at_any_moment_of_a_start_loses_no_job(
    scene: Scene, sql: psycopg.Connection, first: int
) -> None:
    jobs = [scene.enqueue(dying.lasts.new_job(0.02)) for _ in range(200)]
    for number in range(first, first + 3):
        with scene.starting("--concurrency", "2") as worker:
            _come_along(worker, number)
            worker.signal(signal.SIGTERM)
            assert worker.ends() in (ExitCode.DRAINED, -signal.SIGTERM), worker.log
        held = sql.execute("SELECT id FROM tenure.job WHERE state = 'running'").fetchall()
        assert held == [], "no job stays with a worker that has left"
    with scene.worker() as last:
        done = scene.completes(*jobs)
        assert last.drain() == ExitCode.DRAINED
    assert {(job.attempt, job.crashes) for job in done} == {(1, 0)}
    assert {len(scene.runs(job)) for job in jobs} == {1}


def _come_along(worker: RunningWorker, number: int) -> None:
    """Wait until it has come a little further than the last time."""
    if number < 6:
        eventually(lambda: len(worker.tree) > number // 2, "it has its processes")
    else:
        worker.says([" runs ", "beat of worker", "claimed job"][number % 3])
    time.sleep(random.Random(number).uniform(0, 0.05))  # not for luck: to hit another moment


# Signals that never cease.

LEFT = (ExitCode.DRAINED, ExitCode.HURRIED)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("busy", [False, True])
def test_signals_during_the_whole_drain_leave_the_exit_code_alone(
    scene: Scene, number: signal.Signals, busy: bool
) -> None:
    with scene.worker() as worker:
        if busy:
            scene.start(dying.waits.new_job())
        code = worker.ends_under_signals(number)
    assert code in ((ExitCode.HURRIED,) if busy else LEFT), worker.log


def test_signals_during_the_whole_drain_of_a_worker_beside_a_program_leave_its_exit_code_alone(
    scene: Scene,
) -> None:
    told = json.dumps({"app": "tests.apps.dying:app", "url": scene.url})
    log = scene.folder / "beside.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tenure.runtime.keeper.program"],
            cwd=ROOT,
            env={**os.environ, "TENURE_TEST_FOLDER": str(scene.folder), **SHORT},
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    worker = RunningWorker(process, log)
    try:
        assert process.stdin is not None
        process.stdin.write(f"{told}\n".encode())
        process.stdin.flush()
        worker.says('"ready"')
        assert worker.ends_under_signals(signal.SIGTERM) in LEFT, worker.log
    finally:
        process.kill()
        process.communicate()
