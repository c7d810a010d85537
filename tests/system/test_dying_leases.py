"""Slow is not dead: jobs far longer than a lease run once. And a worker less loses no job."""

import signal
from pathlib import Path

import pytest

from tenure.store.store import Store
from tests.apps import dying
from tests.system.scene import SHORT, Scene
from tests.workers import eventually

# For a machine that is busy with other things than these tests.
PATIENT = {**SHORT, "TENURE_RECOVER_GRACE": "1s"}


@pytest.fixture
def scene(database: str, store: Store, tmp_path: Path) -> Scene:
    return Scene(database, store, tmp_path)


def test_a_job_of_twenty_leases_runs_once_beside_hogs(scene: Scene) -> None:
    with scene.worker(**PATIENT) as worker, scene.worker("--queues", "none", **PATIENT):
        long = scene.start(dying.lasts.new_job(20))
        hogs = [
            scene.start(dying.holds_the_lock.new_job(2.5)),
            scene.start(dying.blocks_its_loop.new_job(3)),
        ]
        done = scene.completes(*hogs, long, within=60)
        assert [(job.result, job.crashes) for job in done] == [(1, 0)] * 3
        assert [len(scene.runs(job.id)) for job in done] == [1, 1, 1]
        assert scene.store.statistics().recovered == 0
        assert "blocked its event loop" in worker.log


def test_all_of_2000_jobs_complete_once_when_one_of_two_workers_is_killed(scene: Scene) -> None:
    shared = dying.quick.new_job()
    # What a dead worker held runs alone next time, so let that be little.
    with scene.worker("--concurrency", "10") as first, scene.worker() as second:
        jobs = scene.store.enqueue_many(shared, [{}] * 2000)
        eventually(lambda: "claimed job" in first.log and "claimed job" in second.log, "both work")
        first.signal(signal.SIGKILL)
        first.ends()
        eventually(lambda: scene.store.statistics().by_status == {"completed": 2000}, "all", 60)
        assert all(scene.store.show(job).result == job for job in jobs[::50])
        assert second.drain() == 0
