"""A command line on the database of the test."""

import pytest

from tests.cli.running import Cli
from tests.factories import announce


@pytest.fixture
def cli(database: str) -> Cli:
    announce(database, "crawl", "ours", "shop.crawl", "theirs", "work")
    return Cli(database)
