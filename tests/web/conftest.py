"""The API over a database of the test, and people who ask."""

from collections.abc import Callable, Iterator

import pytest

from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.principal import Role
from tenure.web import create_app
from tests.factories import announce
from tests.web.http_client import Http, asking

Bearer = Callable[..., dict[str, str]]


# Not longer: the app listens in the shared database, and others count who does.
@pytest.fixture(scope="package")
def shared_client(shared_database: str) -> Iterator[Client]:
    with Client(shared_database) as client:
        yield client


@pytest.fixture(scope="package")
def shared_http(shared_client: Client) -> Iterator[Http]:
    with asking(create_app(shared_client)) as http:
        yield http


@pytest.fixture
def client(database: str) -> Iterator[Client]:
    with Client(database) as client:
        yield client


@pytest.fixture
def http(database: str, shared_http: Http) -> Http:
    """Somebody without a token."""
    announce(database, "a", "book", "crawl", "pay", "work")
    return shared_http


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
