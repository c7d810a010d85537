"""The scene is played once for all tests of this folder that look at it."""

import pytest

from tests.conftest import wipe
from tests.observe.scene import Seen, play


@pytest.fixture(scope="session")
def seen(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    wipe(shared_database)
    return play(shared_database, tmp_path_factory.mktemp("seen"))
