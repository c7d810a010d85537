"""Keys that an operator makes up to meet those of Tenure itself, against a real worker."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tenure.app import Tenure
from tenure.domain.job import NewJob
from tenure.domain.principal import Principal, Role
from tenure.store.calls import enqueue_calls
from tenure.store.store import Store
from tests.apps import jobs
from tests.conftest import wipe
from tests.workers import RunningWorker, Watcher, eventually, running_worker

EVE = Principal("eve", Role.OPERATOR, via="rest")


def take(store: Store, **keys: str) -> int:
    """Enqueue a job of another owner with these keys, which would not run for years."""
    job = NewJob(task=jobs.echo.name, delay=timedelta(days=3650), **keys)  # type: ignore[arg-type]
    (made,) = store.send(enqueue_calls.enqueue(job).asked_by(EVE))
    assert made.created
    return made.id


@pytest.fixture
def held_queue(store: Store) -> Iterator[None]:
    store.pause_dispatch("queue", "default")
    yield
    store.resume_dispatch("queue", "default")


def test_a_job_of_another_owner_does_not_become_a_child(
    worker: RunningWorker, app: Tenure, store: Store, folder: Path, held_queue: None
) -> None:
    handle = jobs.trip.enqueue()
    fake = take(store, idempotency=f"spawn:{handle.id}:1:{jobs.book.name}")
    store.resume_dispatch("queue", "default")
    eventually((folder / f"started-{handle.id}").exists)
    children = [store.show(child.id) for child in handle.children()]
    assert [child.parent_id for child in children] == [handle.id] * 2
    assert fake not in [child.id for child in children]
    handle.cancel(force=True, wait=True)


def test_a_rollback_undoes_although_somebody_took_names_of_what_it_enqueues(
    worker: RunningWorker, app: Tenure, store: Store, watch: Watcher, folder: Path
) -> None:
    unbooked = folder / "unbooked"
    unbooked.unlink(missing_ok=True)
    handle = jobs.trip.enqueue()
    eventually((folder / f"started-{handle.id}").exists)
    for child in handle.children():
        take(store, idempotency=f"tenure.undo {child.id}")
        take(store, idempotency=f"undo:{child.id}")
        take(store, idempotency=f"tenure:undo:{child.id}")
    watch.record_ends(handle.cancel(rollback=True).cancellation_id)
    eventually(lambda: unbooked.exists() and len(unbooked.read_text().splitlines()) == 2)


def test_a_schedule_continues_when_its_key_is_taken(
    database: str, store: Store, tmp_path: Path
) -> None:
    wipe(database)
    take(store, unique="schedule:skipping")
    take(store, unique="tenure:schedule:skipping")
    with running_worker(database, tmp_path, app="tests.apps.dying:scheduled"):
        eventually(lambda: store.list_jobs({"owner": "schedule:skipping"}))
