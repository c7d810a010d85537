"""A stage for races."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.conftest import Connect
from tests.store.races.stage import Stage


@pytest.fixture
def stage(connect: Connect, sql: psycopg.Connection) -> Iterator[Stage]:
    with ThreadPoolExecutor(max_workers=12) as threads:
        stage = Stage(connect, sql, threads)
        yield stage
        stage.go_on()
    stage.clear_up()
