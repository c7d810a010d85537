import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.testing import Databases, Sandbox


@pytest.fixture(scope="session")
def databases(server: str) -> Iterator[Databases]:
    with Databases(server) as databases:
        yield databases


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder for temporary files, whose path is short enough for a socket in it."""
    with tempfile.TemporaryDirectory(prefix="tt-") as folder:
        yield Path(folder)


@pytest.fixture
def sandbox(databases: Databases) -> Iterator[Sandbox]:
    with Sandbox(databases) as sandbox:
        yield sandbox
