"""The pytest plugin: the fixture ``sandbox``, and a guard around the developer's own database."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tenure.control.client import Client
from tenure.errors import StoreUnavailable, TenureError

if TYPE_CHECKING:
    from tenure.testing.databases import Databases
    from tenure.testing.sandbox import Sandbox

_NAME = "tenure-databases"
_URL = "tenure_database_url"
_SHARED = "tenure"  # what the controller of pytest-xdist tells its workers
_STOPS_WITHIN = 10.0  # seconds for an embedded server that nobody uses any more


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(_URL, "URL of a PostgreSQL for tests; left out, an embedded one is started")
    parser.addoption(
        "--tenure-database-url", dest=_URL, default=None, help="overrides tenure_database_url"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(TenurePlugin(config), _NAME)


class TenurePlugin:
    def __init__(self, config: pytest.Config) -> None:
        self.url: str | None = config.getoption(_URL) or config.getini(_URL) or None
        given: Any = getattr(config, "workerinput", {}).get(_SHARED, {})
        self.folder: Path | None = Path(given["folder"]) if "folder" in given else None
        self.prefix: str | None = given.get("prefix")
        self._is_controller = False
        Client.before_use = _refuse_embedded

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Let the workers of pytest-xdist share one server and one template."""
        if self.prefix is None:
            from tenure.testing.databases import new_prefix

            self._is_controller = True
            self.prefix = new_prefix()
            if self.url is None:
                self.folder = Path(tempfile.mkdtemp(prefix="tenure-test-"))
        folder = {} if self.folder is None else {"folder": str(self.folder)}
        node.workerinput[_SHARED] = {"prefix": self.prefix, **folder}

    def pytest_unconfigure(self) -> None:
        Client.before_use = None
        if not self._is_controller:
            return
        if self.folder is not None:
            _remove(self.folder)
        else:
            from tenure.testing.databases import Databases

            with suppress(StoreUnavailable):  # the next run drops what there may be
                Databases(self.url, prefix=self.prefix).drop_all()


@pytest.fixture(scope="session")
def tenure_databases(request: pytest.FixtureRequest) -> "Iterator[Databases]":
    """The server for the databases of tests."""
    from tenure.testing.databases import Databases

    plugin = request.config.pluginmanager.get_plugin(_NAME)
    assert isinstance(plugin, TenurePlugin)
    with Databases(plugin.url, folder=plugin.folder, prefix=plugin.prefix) as databases:
        yield databases


@pytest.fixture
def sandbox(tenure_databases: "Databases") -> "Iterator[Sandbox]":
    """A database of its own for this test, in which jobs run here and now."""
    from tenure.testing.sandbox import Sandbox

    with Sandbox(tenure_databases) as sandbox:
        yield sandbox


def _refuse_embedded(client: Client) -> None:
    """Keep tests away from the database in the developer's folder."""
    if not client.has_url:
        raise TenureError(
            f"a test without the fixture `sandbox` uses Tenure, and would use the jobs in "
            f"{client.settings.folder.absolute()}; take the fixture as a parameter of the test"
        )


def _remove(folder: Path) -> None:
    from tenure.store.embedded import is_running

    until = time.monotonic() + _STOPS_WITHIN
    while is_running(folder / "pg") and time.monotonic() < until:
        time.sleep(0.05)
    shutil.rmtree(folder, ignore_errors=True)
