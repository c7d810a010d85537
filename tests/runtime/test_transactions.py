"""A job's own transaction completes it, and a rollback undoes what its tasks completed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tenure.app import Tenure
from tenure.control.task import Task
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.apps import jobs
from tests.workers import RunningWorker, Watcher, eventually

WRITERS: dict[str, Task[..., Any]] = {"async": jobs.writes_async, "process": jobs.writes}


@pytest.fixture(scope="module")
def written(shared_database: str, worker: RunningWorker) -> Iterator[psycopg.Connection]:
    with psycopg.connect(shared_database, autocommit=True) as connection:
        connection.execute("CREATE TABLE written (job bigint)")
        yield connection
        connection.execute("DROP TABLE written")


@pytest.fixture(params=list(WRITERS))
def task(request: pytest.FixtureRequest, written: psycopg.Connection, app: Tenure) -> Any:
    return WRITERS[request.param]


def rows(written: psycopg.Connection, job: int) -> int:
    found = written.execute("SELECT count(*) FROM written WHERE job = %s", (job,)).fetchone()
    assert found is not None
    return int(found[0])


def test_its_rows_and_its_completion_are_one_commit(
    task: Task[..., Any], written: psycopg.Connection
) -> None:
    handle = task.enqueue("commit")
    assert handle.result(timeout="20s") == "committed"
    assert rows(written, handle.id) == 1


def test_a_failure_takes_its_rows_back(
    task: Task[..., Any], written: psycopg.Connection, watch: Watcher
) -> None:
    handle = task.enqueue("fail")
    watch.becomes(handle.id, State.FAILED)
    assert rows(written, handle.id) == 0


def test_what_a_job_says_before_its_commit_is_recorded_and_what_comes_after_it_is_no_late_write(
    written: psycopg.Connection, app: Tenure, store: Store, worker: RunningWorker
) -> None:
    before = store.statistics().refused
    handle = jobs.speaks_around_its_commit.enqueue(300)
    assert handle.result(timeout="20s") == "committed"
    assert handle.partials() == list(range(300))
    assert jobs.speaks_around_its_commit.enqueue(0).result(timeout="20s") == "committed"
    assert store.statistics().refused == before
    assert "late write" not in worker.log


def test_a_stop_in_the_middle_takes_its_rows_back(
    written: psycopg.Connection, watch: Watcher, folder: Path, app: Tenure
) -> None:
    handle = jobs.writes_async.enqueue("wait")
    eventually((folder / f"started-{handle.id}").exists)
    watch.record_ends(handle.cancel().cancellation_id)
    assert watch.state(handle.id) is State.CANCELLED
    assert rows(written, handle.id) == 0


def test_the_session_of_a_job_that_is_killed_ends_with_it(
    written: psycopg.Connection, watch: Watcher, folder: Path, app: Tenure
) -> None:
    handle = jobs.writes.enqueue("hog")
    eventually((folder / f"started-{handle.id}").exists)
    watch.record_ends(handle.cancel(force=True).cancellation_id)
    assert watch.state(handle.id) is State.CANCELLED
    assert rows(written, handle.id) == 0
    named = f"tenure {handle.id}-%"
    query = "SELECT FROM pg_stat_activity WHERE application_name LIKE %s"
    eventually(lambda: written.execute(query, (named,)).rowcount == 0)


def test_a_rollback_undoes_completed_tasks_newest_first(
    worker: RunningWorker, app: Tenure, watch: Watcher, folder: Path
) -> None:
    handle = jobs.trip.enqueue()
    eventually((folder / f"started-{handle.id}").exists)
    record = watch.record_ends(handle.cancel(rollback=True).cancellation_id)
    assert len(record.tasks_completed) == 2
    unbooked = folder / "unbooked"
    eventually(lambda: unbooked.exists() and len(unbooked.read_text().splitlines()) == 2)
    assert unbooked.read_text().splitlines() == ["2 seat 2", "1 seat 1"]


def test_named_tasks_are_undone_alone_and_nothing_is_undone_twice(
    worker: RunningWorker, app: Tenure, watch: Watcher, folder: Path
) -> None:
    unbooked = folder / "unbooked"
    unbooked.unlink(missing_ok=True)
    handle = jobs.trip.enqueue()
    eventually((folder / f"started-{handle.id}").exists)
    first, _ = handle.children()
    record = watch.record_ends(handle.cancel(rollback_tasks=[first.id]).cancellation_id)
    eventually(unbooked.exists)
    rest = app.store.rollback(record.cancellation_id)["job"]
    assert app.store.rollback(record.cancellation_id) == {"job": rest}
    watch.becomes(rest, State.COMPLETED)
    assert unbooked.read_text().splitlines() == ["1 seat 1", "2 seat 2"]
