"""A command line on the database of the test."""

import pytest

from tests.cli.running import Cli


@pytest.fixture
def cli(database: str) -> Cli:
    return Cli(database)
