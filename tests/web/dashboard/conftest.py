"""People who look at the page."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.principal import Role
from tenure.web.dashboard import attention
from tests.conftest import _database
from tests.web.dashboard.browser import ARGUMENTS, CHROMIUM, serving
from tests.web.dashboard.stage import Stage
from tests.web.dashboard.visitor import Visitor
from tests.web.http_client import Http

Visits = Callable[..., Visitor]


@pytest.fixture(autouse=True)
def _fresh_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the numbers of the sidebar for each page: the tests share one app."""
    monkeypatch.setattr(attention, "FRESH_FOR", 0.0)


@pytest.fixture
def visits(http: Http, client: Client) -> Visits:
    """Somebody who has logged in: ``visits("ada", Role.OPERATOR)``."""

    def made(name: str, role: Role = Role.OPERATOR, tenant: str = "default") -> Visitor:
        return Visitor(http, make_token(client, name, role, tenant=tenant)[0])

    return made


# Not longer: its event loop would be in the way of the tests that have their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def staged(
    server: str, template: str, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    """What the scenes of one file share."""
    with (
        contextmanager(_database)(server, template) as url,
        Client(url) as client,
        serving(url, tmp_path_factory.mktemp("serve")) as served,
    ):
        yield Stage(url, served, browser, client)


@pytest.fixture
def stage(staged: Stage) -> Iterator[Stage]:
    yield staged
    staged.clear()


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
