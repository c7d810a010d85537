"""People who look at the page."""

from collections.abc import Callable

import pytest

from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.principal import Role
from tests.web.asking import Http
from tests.web.page.visiting import Visitor

Visits = Callable[..., Visitor]


@pytest.fixture
def visits(http: Http, client: Client) -> Visits:
    """Somebody who has logged in: ``visits("ada", Role.OPERATOR)``."""

    def made(name: str, role: Role = Role.OPERATOR, tenant: str = "default") -> Visitor:
        return Visitor(http, make_token(client, name, role, tenant=tenant)[0])

    return made


@pytest.fixture
def root(visits: Visits) -> Visitor:
    return visits("root", Role.ADMIN)


@pytest.fixture
def ann(visits: Visits) -> Visitor:
    """An operator."""
    return visits("ann")


@pytest.fixture
def vic(visits: Visits) -> Visitor:
    return visits("vic", Role.VIEWER)
