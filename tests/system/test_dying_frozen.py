"""Parts of a worker that are stopped (SIGSTOP) for longer than its lease, and then continue."""

import os
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from tenure.domain.lifecycle import Rung, State
from tenure.store.store import Store
from tests.apps import dying
from tests.system.scene import Scene, runner_of, state_of
from tests.workers import RunningWorker, eventually, is_gone


@pytest.fixture
def scene(database: str, store: Store, tmp_path: Path) -> Scene:
    return Scene(database, store, tmp_path)


@pytest.fixture
def first(scene: Scene) -> Iterator[RunningWorker]:
    with scene.worker() as worker:
        yield worker


def stop(*processes: psutil.Process) -> None:
    for process in processes:
        os.kill(process.pid, signal.SIGSTOP)
    for process in processes:
        eventually(lambda process=process: state_of(process) == "T")  # type: ignore[misc]


def go_on(*processes: psutil.Process) -> None:
    for process in processes:
        os.kill(process.pid, signal.SIGCONT)


def is_declared_dead(scene: Scene, worker: str) -> bool:
    workers = scene.store.workers(all=True)
    return any(str(one.id) == worker and one.status == "dead" for one in workers)


@pytest.mark.parametrize("whole_tree", [False, True], ids=["keeper", "all"])
def test_a_worker_that_wakes_after_its_lease_changes_nothing_and_restarts(
    scene: Scene, first: RunningWorker, whole_tree: bool
) -> None:
    dead = scene.only_worker()
    jobs = [scene.start(dying.waits.new_job()), scene.start(dying.waits_in_a_process.new_job())]
    old = [runner_of(first, scene.runs(job)[0]) for job in jobs]
    late = scene.start(dying.says_when_it_has_waited.new_job())
    [keeper, *others] = first.tree
    stopped = [keeper, *others] if whole_tree else [keeper]
    stop(keeper)
    # It ends while the keeper is stopped, so its outcome is reported too late.
    scene.let_go(late)
    eventually((scene.folder / f"waited-{late}").exists)
    stop(*stopped)
    with scene.worker() as second:
        waiting = set(jobs)
        while waiting:  # one after another: each is a suspect now
            found = eventually(lambda: [job for job in waiting if len(scene.runs(job)) > 1])
            for job in found:
                state = scene.second_run(job).split()[2]
                assert state == "T", "frozen before another one starts it"
            scene.let_go(*found)
            waiting.difference_update(found)
        assert is_declared_dead(scene, dead)
        go_on(*stopped)
        first.says(f"worker {dead} was declared dead: what it ran is killed; it starts again")
        eventually(lambda: all(map(is_gone, old)), "what it ran is killed")
        if not whole_tree:  # else the late outcome may never have left its runner
            first.says(f"late write refused: its end of job {late} ")
            assert scene.store.statistics().refused > 0, "and on record"
        done = scene.completes(*jobs, late)
        assert [(job.result, job.crashes) for job in done] == [(1, 1)] * 3
        eventually(lambda: len(scene.living()) == 2, "it is back under another name")
        assert second.drain() == 0
    assert dead != scene.only_worker()
    scene.completes(scene.enqueue(dying.quick.new_job()))
    assert first.drain() == 0


def test_a_frozen_worker_whose_lease_still_holds_continues(
    scene: Scene, first: RunningWorker
) -> None:
    before = scene.only_worker()
    jobs = [scene.start(dying.waits.new_job()), scene.start(dying.waits_in_a_process.new_job())]
    runners = [runner_of(first, scene.runs(job)[0]) for job in jobs]
    keeper = first.tree[0]
    stop(keeper)
    eventually(lambda: {state_of(runner) for runner in runners} == {"T"}, "they are frozen")
    eventually(lambda: scene.living() == set(), "its lease is over")
    go_on(keeper)
    first.says("jobs continue")
    scene.let_go(*jobs)
    assert [(job.result, job.crashes) for job in scene.completes(*jobs)] == [(1, 0)] * 2
    assert [len(scene.runs(job)) for job in jobs] == [1, 1]
    assert scene.only_worker() == before
    assert first.drain() == 0


def test_a_guard_that_does_not_move_is_noticed_and_its_jobs_run_again_unspent(
    scene: Scene, first: RunningWorker
) -> None:
    jobs = [
        scene.start(dying.sleeps_first.new_job()),
        scene.start(dying.sleeps_first_in_a_process.new_job()),
    ]
    guard = first.guard
    stop(guard)
    first.says("the guard does not respond")
    assert [(job.result, job.crashes) for job in scene.completes(*jobs)] == [(1, 1)] * 2
    assert all(scene.second_run(job).split()[2] in "-Z" for job in jobs)
    assert is_gone(guard)
    scene.completes(scene.enqueue(dying.quick.new_job()))
    assert first.drain() == 0


def test_a_runner_that_is_frozen_keeps_its_job_and_can_still_be_stopped(scene: Scene) -> None:
    with scene.worker() as worker:
        kept = scene.start(dying.waits_in_a_process.new_job())
        stopped = scene.start(dying.waits.new_job())
        runners = [runner_of(worker, scene.runs(job)[0]) for job in (kept, stopped)]
        stop(*runners)
        beats = worker.log.count("beat of worker")
        eventually(lambda: worker.log.count("beat of worker") > beats + 12, "two leases pass")
        assert scene.watch.state(kept) is State.RUNNING
        record = scene.store.stop(stopped, grace=timedelta(seconds=1))
        ended = scene.watch.record_ends(record.cancellation_id)
        assert ended.members[0].rung is Rung.KILLED
        assert is_gone(runners[1])
        go_on(runners[0])
        scene.let_go(kept)
        assert scene.completes(kept)[0].result == 1
        assert len(scene.runs(kept)) == 1
        assert scene.store.statistics().recovered == 0
        assert worker.drain() == 0
