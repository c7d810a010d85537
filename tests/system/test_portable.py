"""The portable mode: a worker without what Linux alone has. What it promises, and what it does not.

`make test-portable` also runs the conformance of the executors in it.
"""

import shutil
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tenure.control.task import Task
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.apps import dying, escaping
from tests.system.scene import LONG, Scene, kill_all
from tests.workers import RunningWorker, eventually, is_gone, site_in

ESCAPING = "tests.apps.escaping:app"
WITHOUT_LINUX = Path(__file__).parents[1] / "public" / "without_linux.py"


@pytest.fixture
def scene(database: str, store: Store, tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(database, store, tmp_path)
    # Not imported here: it changes the process that imports it.
    shutil.copy(WITHOUT_LINUX, tmp_path / "sitecustomize.py")
    yield scene
    for place in tmp_path.glob("grandchild-*"):
        if psutil.pid_exists(pid := int(place.read_text())):
            psutil.Process(pid).kill()


def portable(scene: Scene, **options: Any) -> AbstractContextManager[RunningWorker]:
    settings = {"TENURE_PORTABLE": "1", **site_in(scene.folder), **LONG}
    return scene.worker(**settings, **options)


def stopped(scene: Scene, task: Task[..., Any]) -> psutil.Process:
    """Stop a job, and return the child that it had."""
    job = scene.enqueue(task.new_job())
    child = scene.grandchild(job)
    asked = scene.store.stop(job, reason="enough")
    assert scene.watch.record_ends(asked.cancellation_id).status == "completed"
    return child


def test_it_says_so_stops_a_family_and_drains(scene: Scene) -> None:
    with portable(scene) as worker:
        assert "portable mode, for development only" in worker.log
        assert "runners are started by spawn: this is the portable mode" in worker.log
        family = scene.start(dying.has_a_family.new_job())
        grandchild = scene.grandchild(family)
        record = scene.watch.record_ends(scene.store.stop(family, reason="enough").cancellation_id)
        assert record.status == "completed"
        assert scene.watch.state(family) is State.CANCELLED
        assert is_gone(grandchild)
        assert worker.drain() == 0


def test_what_dies_is_replaced_and_its_jobs_run_again(scene: Scene) -> None:
    with portable(scene) as worker:
        crashed = scene.enqueue(dying.segfaults_first.new_job())
        assert scene.completes(crashed)[0].result == 2
        family = scene.start(dying.has_a_family.new_job())
        coroutine = scene.start(dying.sleeps_first.new_job())
        below = [scene.grandchild(family), *worker.runners]
        worker.guard.kill()
        scene.completes(family, coroutine)
        assert all(map(is_gone, below))
        left = worker.tree
        worker.signal(signal.SIGKILL)
        eventually(lambda: all(map(is_gone, left)), "the guard kills what the keeper leaves", 10)


def test_a_child_that_hides_outlives_a_stop_which_it_does_not_on_linux(scene: Scene) -> None:
    for is_portable in (True, False):
        start = portable(scene, app=ESCAPING) if is_portable else scene.worker(app=ESCAPING)
        with start:
            assert is_gone(stopped(scene, escaping.leaves))
            assert is_gone(stopped(scene, escaping.escapes)) is not is_portable


def test_runners_outlive_a_worker_that_is_killed_as_a_whole_until_the_next_one(
    scene: Scene,
) -> None:
    with portable(scene) as worker:
        scene.start(dying.has_a_family.new_job())
        runners = worker.runners
        kill_all([worker.tree[0], worker.guard])
        assert not all(map(is_gone, runners))
        with portable(scene) as second:
            assert all(map(is_gone, runners))
            assert second.drain() == 0
