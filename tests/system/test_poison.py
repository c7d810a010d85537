"""Jobs that kill or freeze their worker: they end failed, and their neighbours complete unspent."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from tenure.domain.job import Job
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.apps import poison
from tests.apps.dying import AnyTask
from tests.system.scene import LONG, Scene
from tests.workers import RunningWorker, eventually

APP = "tests.apps.poison:app"
ATTEMPTS = 3
UNCHARGED = 2  # strikes at most: a second one where other suspects are on the same worker
WITHIN = 90.0
PUT_OFF = " s: another suspect runs"


@pytest.fixture
def scene(database: str, store: Store, tmp_path: Path) -> Scene:
    return Scene(database, store, tmp_path)


@pytest.fixture
def workers(scene: Scene) -> Iterator[list[RunningWorker]]:
    with scene.worker(app=APP, **LONG) as first, scene.worker(app=APP, **LONG) as second:
        yield [first, second]


def start_innocents(scene: Scene) -> list[int]:
    """Two that last and are at work, and two that are short and come with the poison."""
    long = [
        scene.start(poison.lasts.new_job(seconds=5)),
        scene.start(poison.lasts_in_a_process.new_job(seconds=5)),
    ]
    return [*long, *(scene.enqueue(poison.lasts.new_job(seconds=0)) for _ in range(2))]


def is_struck_down(scene: Scene, job: int, innocents: list[int], reason: str) -> Job:
    """Assert that it was charged for what it did, and nobody else was; return it."""
    scene.watch.becomes(job, State.FAILED, within=WITHIN)
    failed = scene.store.show(job)
    strikes = len(scene.runs(job))
    assert ATTEMPTS < strikes <= ATTEMPTS + UNCHARGED
    assert (failed.attempt, failed.max_attempts, failed.crashes) == (ATTEMPTS, ATTEMPTS, strikes)
    assert reason in str(failed.error_message)
    done = scene.completes(*innocents, within=WITHIN)
    assert [(one.result, one.attempt) for one in done] == [(1, 1)] * len(innocents)
    return failed


@pytest.mark.parametrize(
    "task",
    [
        poison.kills_the_guard,
        poison.kills_the_guard_async,
        poison.kills_the_guard_in_a_thread,
        poison.freezes_the_guard,
    ],
    ids=lambda task: task.name.rpartition(".")[2],
)
def test_a_job_that_strikes_at_the_guard_ends_failed_and_costs_its_neighbours_nothing(
    scene: Scene, workers: list[RunningWorker], task: AnyTask
) -> None:
    innocents = start_innocents(scene)
    job = scene.enqueue(task.new_job())
    reason = "the worker's guard died while this job ran alone"
    strikes = is_struck_down(scene, job, innocents, reason).crashes
    outcomes = scene.outcomes(job)
    assert outcomes[0] == "released", "nobody is charged for the first death"
    # A later one is not charged either while another suspect runs on the same worker.
    assert sorted(outcomes) == ["crashed"] * ATTEMPTS + ["released"] * (strikes - ATTEMPTS)
    identities = scene.store.workers(all=True)
    assert len(identities) <= len(workers) + strikes, "one more for each strike, and no more"
    logs = "".join(worker.log for worker in workers)
    assert logs.count(f"charged: job {job}; given back: nobody") == ATTEMPTS
    assert logs.count(f"job {job} is a suspect and runs alone") == strikes - 1
    assert scene.store.statistics().recovered == 0


def test_a_job_that_kills_its_keeper_ends_failed_and_costs_its_neighbours_nothing(
    scene: Scene,
) -> None:
    with ExitStack() as stack:

        def start() -> RunningWorker:
            return stack.enter_context(scene.worker(app=APP, **LONG))

        workers = [start(), start()]
        innocents = start_innocents(scene)
        job = scene.enqueue(poison.kills_the_keeper.new_job())

        def is_over() -> bool:
            """Start every worker that is dead again, as a supervisor would."""
            for place, worker in enumerate(workers):
                if worker.process.poll() is not None:
                    workers[place] = start()
            return scene.watch.state(job) is State.FAILED

        eventually(is_over, "the poison job fails", WITHIN)
        reason = "its worker died while it ran alone"
        strikes = is_struck_down(scene, job, innocents, reason).crashes
        assert scene.outcomes(job) == ["expired"] * strikes
        assert len(scene.store.workers(all=True)) <= 2 + strikes


def test_suspects_come_back_at_once_and_after_a_second_death_one_after_another(
    scene: Scene,
) -> None:
    with scene.worker(app=APP, **LONG) as worker:
        jobs = [scene.start(poison.waits.new_job()) for _ in range(3)]
        worker.guard.kill()
        eventually(lambda: all(len(scene.runs(job)) == 2 for job in jobs), "all run again")
        worker.guard.kill()
        while jobs:
            eventually(lambda: any(len(scene.runs(job)) == 3 for job in jobs), "one runs again")
            if len(jobs) > 1:
                put_off = worker.log.count(PUT_OFF)
                eventually(partial(_says_more, worker, put_off), "another one was put off")
            scene.start(poison.lasts.new_job(seconds=0))
            [job] = [job for job in jobs if len(scene.runs(job)) == 3]
            scene.let_go(job)
            [done] = scene.completes(job)
            assert (done.result, done.attempt, done.crashes) == (1, 1, 2)
            jobs.remove(job)


def _says_more(worker: RunningWorker, put_off: int) -> bool:
    return worker.log.count(PUT_OFF) > put_off
