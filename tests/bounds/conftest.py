"""Everybody who can write to the database of the test."""

from collections.abc import Iterator

import psycopg
import pytest

from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.principal import Role
from tenure.store.store import Store
from tenure.web import create_app
from tests.bounds.doors import Doors
from tests.cli.running import Cli
from tests.factories import announcement
from tests.web.http_client import Http, asking


@pytest.fixture(scope="module")
def client(shared_database: str) -> Iterator[Client]:
    with Client(shared_database) as client:
        yield client


@pytest.fixture(scope="module")
def http(client: Client) -> Iterator[Http]:
    with asking(create_app(client)) as http:
        yield http


@pytest.fixture
def doors(
    database: str, store: Store, client: Client, sql: psycopg.Connection, http: Http
) -> Doors:
    store.announce_tasks([announcement("work")])
    secret, _ = make_token(client, "root", Role.ADMIN)
    admin = http.as_({"authorization": f"Bearer {secret}"})
    return Doors(store, client, sql, admin, Cli(database))
