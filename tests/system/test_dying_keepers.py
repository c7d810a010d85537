"""Killed keepers, guards and whole workers: nothing of them keeps running, and no job is lost."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tenure.store.store import Store
from tests.apps import dying
from tests.system.scene import LONG, Scene, kill_all
from tests.workers import eventually, is_gone


@pytest.fixture
def scene(database: str, store: Store, tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(database, store, tmp_path)
    yield scene
    for place in tmp_path.glob("grandchild-*"):
        grandchild = int(place.read_text())
        if psutil.pid_exists(grandchild):
            os.kill(grandchild, signal.SIGKILL)


def test_a_killed_keeper_takes_everything_with_it_and_its_jobs_come_back_after_the_lease(
    scene: Scene,
) -> None:
    with scene.worker() as worker:
        family = scene.start(dying.has_a_family.new_job())
        coroutine = scene.start(dying.sleeps_first.new_job())
        grandchild = scene.grandchild(family)
        everything = [*worker.tree, grandchild]
        dead = scene.only_worker()
        worker.signal(signal.SIGKILL)
        worker.ends()
        eventually(lambda: all(map(is_gone, everything)), "all of it is gone", 5)
        assert scene.store.show(coroutine).worker_id == dead, "no lease is over yet"
        with scene.worker(host="another") as second:
            done = scene.completes(family, coroutine)
            assert [(job.result, job.crashes) for job in done] == [(1, 1), (1, 1)]
            said = rf"worker {dead} \(host .+, pid \d+\) is dead: its last beat was at "
            assert re.search(said, second.says(" is dead: its last beat was at "))
            assert f"recovered job {family}" in second.log
            assert scene.store.statistics().recovered == 2
            assert second.drain() == 0


def test_a_killed_guard_takes_the_runners_and_the_jobs_run_again_at_once_unspent(
    scene: Scene,
) -> None:
    with scene.worker(**LONG) as worker:
        before = scene.only_worker()
        family = scene.start(dying.has_a_family.new_job())
        jobs = [scene.start(dying.sleeps_first.new_job()) for _ in range(3)]
        below = [scene.grandchild(family), *worker.runners]
        worker.guard.kill()
        done = scene.completes(family, *jobs)
        assert [(job.result, job.crashes) for job in done] == [(1, 1)] * 4
        assert all(map(is_gone, below))
        assert all(run.split()[2] in "-Z" for run in map(scene.second_run, [family, *jobs]))
        assert scene.store.statistics().recovered == 0
        assert before not in scene.living(), "it has a new identity"
        assert worker.drain() == 0


def test_what_a_worker_killed_as_a_whole_leaves_is_reaped_by_the_next_one_on_its_host(
    scene: Scene,
) -> None:
    with scene.worker(**LONG) as worker:
        family = scene.start(dying.has_a_family.new_job())
        coroutine = scene.start(dying.sleeps_first.new_job())
        grandchild = scene.grandchild(family)
        temporary = Path((scene.folder / f"temp-{family}").read_text().strip())
        [secret] = temporary.parent.glob("*.sensitive")
        eventually(lambda: len(worker.runners) == 3, "the spare is there too")
        kill_all([worker.tree[0], worker.guard, *worker.runners])
        worker.ends()
        assert not is_gone(grandchild), "nobody was there to see to it"
        assert temporary.exists()
        with scene.worker(**LONG) as second:
            assert "1 processes" in second.says("a worker that was killed on this host left")
            eventually(lambda: is_gone(grandchild), "the grandchild is gone", 5)
            assert not temporary.exists()
            assert not secret.exists()
            done = scene.completes(family, coroutine)
            assert [(job.result, job.crashes) for job in done] == [(1, 1), (1, 1)]
            assert second.drain() == 0
    assert list((scene.folder / "host" / f"tenure-{os.getuid()}").glob("*-*")) == []


def test_a_worker_killed_beside_another_on_its_host_is_missed_long_before_its_lease_ends(
    scene: Scene,
) -> None:
    with scene.worker(**LONG) as worker:
        family = scene.start(dying.has_a_family.new_job())
        coroutine = scene.start(dying.sleeps_first.new_job())
        everything = [*worker.tree, scene.grandchild(family)]
        dead = scene.only_worker()
        with scene.worker(**LONG) as second:
            worker.signal(signal.SIGKILL)
            worker.ends()
            done = scene.completes(family, coroutine)
            assert [(job.result, job.crashes) for job in done] == [(1, 1), (1, 1)]
            assert all(map(is_gone, everything))
            assert f"worker {dead} was killed on this host" in second.log
            statuses = {str(one.id): one.status for one in scene.store.workers(all=True)}
            assert statuses[dead] == "dead"
            assert f"recovered job {family}" in second.log
            assert scene.store.statistics().recovered == 2
            assert second.drain() == 0


def test_a_worker_that_is_only_frozen_is_not_taken_for_dead_by_its_neighbour(scene: Scene) -> None:
    with scene.worker(**LONG) as worker, scene.worker("--queues", "none", **LONG):
        job = scene.start(dying.sleeps_first.new_job())
        before = scene.store.show(job).worker_id
        worker.signal(signal.SIGSTOP)
        third = ("--queues", "none")
        with scene.worker(*third, **LONG) as newcomer:  # it checks at its start and again later
            newcomer.drain()
        assert scene.store.show(job).worker_id == before
        worker.signal(signal.SIGCONT)
        assert len(scene.runs(job)) == 1
