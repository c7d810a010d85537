"""A worker with many tenants for each module, and what was seen of all its scenarios."""

from collections.abc import Iterator, Mapping
from typing import Any

import psycopg
import pytest

from tests.apps.hostile import app
from tests.conftest import _database, with_database
from tests.hostile import arena as arenas
from tests.hostile.arena import Arena
from tests.hostile.playing import play
from tests.hostile.scenario import Evidence


@pytest.fixture(scope="session")
def lanes_template(server: str, template: str) -> str:
    """The name of a database with the schema and all lanes in it."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE template_lanes TEMPLATE {template}".encode())
    arenas.make_lanes(with_database(server, "template_lanes"))
    return "template_lanes"


@pytest.fixture(scope="module")
def lanes_database(server: str, lanes_template: str) -> Iterator[str]:
    yield from _database(server, lanes_template)


@pytest.fixture(scope="module")
def arena(lanes_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with arenas.opened(lanes_database, tmp_path_factory.mktemp("hostile"), app) as arena:
        yield arena


@pytest.fixture(scope="module")
def evidence(request: pytest.FixtureRequest, arena: Arena) -> Mapping[str, Evidence]:
    """All scenarios of this module that were asked for, run beside each other."""
    return arena.run_all(asked_for(request), play)


def asked_for(request: pytest.FixtureRequest) -> list[Any]:
    """Return the scenarios of this module that were selected."""
    wanted: dict[str, Any] = {}
    for item in request.session.items:
        spec = getattr(item, "callspec", None)
        if spec is None or getattr(item, "module", None) is not request.module:
            continue
        if (scenario := spec.params.get("scenario")) is not None:
            wanted[str(scenario)] = scenario
    return list(wanted.values())
