"""Folders of the embedded PostgreSQL, and a crowd to use them."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.store.embedded import Embedded, binaries
from tests.system.embedded.users import (
    WITHOUT_WHEEL,
    Crowd,
    crash,
    is_deserted,
    processes_of,
    public_folder,
)
from tests.workers import eventually


@pytest.fixture(autouse=True)
def binaries_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    if WITHOUT_WHEEL:
        monkeypatch.setitem(sys.modules, binaries.WHEEL, None)


@pytest.fixture
def empty() -> Iterator[Path]:
    """A folder to make folders in; whatever runs below it at the end is a failure."""
    with public_folder() as folder:
        yield folder
        try:
            eventually(lambda: is_deserted(folder))
        finally:
            crash(*processes_of(folder))


@pytest.fixture
def crowd(empty: Path) -> Iterator[Crowd]:
    crowd = Crowd()
    yield crowd
    crowd.end()


@pytest.fixture(scope="session")
def made() -> Iterator[Path]:
    """A folder whose data is made, to be copied: making it takes longer than all the rest."""
    with public_folder() as parent, pytest.MonkeyPatch.context() as monkeypatch:
        if WITHOUT_WHEEL:
            monkeypatch.setitem(sys.modules, binaries.WHEEL, None)
        folder = parent / "made"
        Embedded.open(folder).close()
        yield folder
        eventually(lambda: is_deserted(parent))


@pytest.fixture
def folder(made: Path, empty: Path) -> Path:
    folder = empty / "f"
    subprocess.run(["cp", "-a", made, folder], check=True)
    (folder / "server.log").unlink()
    return folder
