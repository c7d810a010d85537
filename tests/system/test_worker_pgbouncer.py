"""A worker behind PgBouncer in transaction mode: nothing it does needs a session."""

from pathlib import Path

import pytest

from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.apps import dying
from tests.system.scene import Scene
from tests.system.test_pgbouncer import PGBOUNCER, pooled

__all__ = ["pooled"]

pytestmark = pytest.mark.skipif(
    PGBOUNCER is None, reason="there is no pgbouncer here: apt-get install pgbouncer"
)


def test_jobs_run_and_are_stopped(pooled: str, database: str, store: Store, tmp_path: Path) -> None:
    scene = Scene(database, store, tmp_path)
    with scene.worker(url=pooled, TENURE_POLL="200ms") as worker:
        jobs = scene.store.enqueue_many(dying.quick.new_job(), [{}] * 200)
        scene.completes(*jobs, scene.enqueue(dying.fails_first.new_job()))
        kept = scene.start(dying.steps.new_job(3))
        stopped = [
            scene.start(dying.waits.new_job()),
            scene.start(dying.waits_in_a_process.new_job()),
        ]
        for job in stopped:
            scene.watch.record_ends(scene.store.stop(job, reason="enough").cancellation_id)
            assert scene.watch.state(job) is State.CANCELLED
        scene.let_go(kept)
        assert scene.completes(kept)[0].checkpoint == {"done": 3}
        assert worker.drain() == 0
