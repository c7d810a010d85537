"""Endings that the database refuses to store, because a trigger of the user raises."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.apps import dying
from tests.system.scene import Scene


@pytest.fixture
def scene(database: str, store: Store, tmp_path: Path) -> Scene:
    return Scene(database, store, tmp_path)


@contextmanager
def refusing(sql: psycopg.Connection, condition: str) -> Iterator[None]:
    sql.execute("""
        CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'not this row'; END $$
    """)
    sql.execute(
        f"CREATE TRIGGER refuse BEFORE UPDATE ON tenure.job FOR EACH ROW WHEN ({condition}) "
        f"EXECUTE FUNCTION public.refuse()".encode()
    )
    yield
    sql.execute("DROP FUNCTION public.refuse() CASCADE")


@pytest.mark.parametrize("taken_up", ["while it is refused", "when it is written"])
def test_a_stop_whose_end_cannot_be_written_is_failed_and_taken_up_by_cancelling_again(
    scene: Scene, sql: psycopg.Connection, taken_up: str
) -> None:
    with scene.worker() as worker:
        stuck = scene.start(dying.waits.new_job())
        with refusing(sql, f"OLD.id = {stuck} AND NEW.state = 'cancelled'"):
            asked = scene.store.stop(stuck, reason="enough")
            other = scene.start(dying.waits.new_job())
            scene.let_go(other)
            scene.completes(other)  # held up by nobody
            failed = scene.watch.record_ends(asked.cancellation_id)
            assert failed.status == "failed"
            assert "not this row" in str(failed.error)
            steps = {step.step_name: step.status for step in failed.progress}
            assert (steps["terminate_runners"], steps["update_tasks"]) == ("completed", "failed")
            assert "CRITICAL" in worker.says(f"the end of job {stuck} could not be written")
            assert scene.watch.state(stuck) is State.RUNNING
            again = None
            if taken_up == "while it is refused":
                again = scene.store.stop(stuck, reason="enough")
                assert again.cancellation_id != asked.cancellation_id
        scene.watch.becomes(stuck, State.CANCELLED)
        again = again or scene.store.stop(stuck, reason="enough")
        record = scene.watch.record_ends(again.cancellation_id)
        assert (record.status, record.job_became) == ("completed", State.CANCELLED)
        assert len(scene.runs(stuck)) == 1
        assert worker.drain() == 0
