"""The API over a database of the test, and people who ask."""

from collections.abc import Callable, Iterator

import pytest
from fastapi import FastAPI

from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.principal import Role
from tenure.web import create_app
from tests.web.asking import Http, asking

Bearer = Callable[..., dict[str, str]]


@pytest.fixture
def client(database: str) -> Iterator[Client]:
    with Client(database) as client:
        yield client


@pytest.fixture
def app(client: Client) -> FastAPI:
    return create_app(client)


@pytest.fixture
def http(app: FastAPI) -> Iterator[Http]:
    """Somebody without a token."""
    with asking(app) as http:
        yield http


@pytest.fixture
def bearer(client: Client) -> Bearer:
    """The headers of somebody: ``bearer("ada", Role.OPERATOR)``."""

    def made(name: str, role: Role = Role.OPERATOR, tenant: str = "default") -> dict[str, str]:
        secret, _ = make_token(client, name, role, tenant=tenant)
        return {"authorization": f"Bearer {secret}"}

    return made


@pytest.fixture
def admin(http: Http, bearer: Bearer) -> Http:
    return http.as_(bearer("root", Role.ADMIN))


@pytest.fixture
def ada(http: Http, bearer: Bearer) -> Http:
    """An operator."""
    return http.as_(bearer("ada"))


@pytest.fixture
def viewer(http: Http, bearer: Bearer) -> Http:
    return http.as_(bearer("vic", Role.VIEWER))
