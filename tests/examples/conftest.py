"""What the tests of the examples share."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tenure.app import Tenure
from tests.workers import RunningWorker, running_worker

Start = Callable[..., AbstractContextManager[RunningWorker]]


@contextmanager
def pointed_at(app: Tenure, url: str) -> Iterator[Tenure]:
    """An app whose jobs are in this database, for as long as the block lasts."""
    before, app._url = app._url, url
    try:
        yield app
    finally:
        app.close()
        app._url = before


@pytest.fixture
def worker_of(database: str, tmp_path: Path) -> Start:
    """Start a worker of an example: ``with worker_of("module:app", NAME="value"):``."""

    def start(app: str, *options: str, **settings: str) -> AbstractContextManager[RunningWorker]:
        env = {"TENURE_DATABASE_URL": database, **settings}
        return running_worker(database, tmp_path, *options, app=app, settings=env)

    return start


@pytest.fixture
def planner_database(database: str) -> Iterator[None]:
    """The planner works in this database, where its table is empty."""
    # Here and not above: only its own tests need the solver, which takes long to import.
    from examples.schedule_planner import planner
    from examples.schedule_planner.model import Plan, engine_on

    engine = engine_on(database)
    Plan.metadata.drop_all(engine, [Plan.metadata.tables["plan"]])
    Plan.metadata.create_all(engine, [Plan.metadata.tables["plan"]])
    with pointed_at(planner.app, database):
        yield
