"""A real worker for the tests of a module, and its app on the same database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.app import Tenure
from tenure.store.store import Store
from tests.apps import jobs
from tests.conftest import wipe
from tests.workers import RunningWorker, Watcher, running_worker


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("worker")


@pytest.fixture(scope="module")
def worker(shared_database: str, folder: Path) -> Iterator[RunningWorker]:
    wipe(shared_database)
    with running_worker(shared_database, folder) as worker:
        yield worker


@pytest.fixture(scope="module")
def app(shared_database: str) -> Iterator[Tenure]:
    """The app of the jobs, on the database of these tests."""
    before, jobs.app._url = jobs.app._url, shared_database
    yield jobs.app
    jobs.app.close()
    jobs.app._url = before


@pytest.fixture
def store(shared_store: Store) -> Store:
    return shared_store


@pytest.fixture
def watch(store: Store) -> Watcher:
    return Watcher(store)
