"""A worker with many tenants for each module, and what was seen of all its scenarios."""

from collections.abc import Iterator, Mapping

import psycopg
import pytest

from tests.conftest import _database, with_database
from tests.hostile import arena as arenas
from tests.hostile.arena import Arena
from tests.hostile.scenario import Evidence, Scenario


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
    with arenas.opened(lanes_database, tmp_path_factory.mktemp("hostile")) as arena:
        yield arena


@pytest.fixture(scope="module")
def evidence(request: pytest.FixtureRequest, arena: Arena) -> Mapping[str, Evidence]:
    """All scenarios of this module that were asked for, run beside each other."""
    wanted: dict[str, Scenario] = {}
    for item in request.session.items:
        spec = getattr(item, "callspec", None)
        if getattr(item, "module", None) is request.module and spec is not None:
            if (scenario := spec.params.get("scenario")) is not None:
                wanted[str(scenario)] = scenario
    return arena.run_all(list(wanted.values()))
