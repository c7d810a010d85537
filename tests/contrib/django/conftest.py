from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.contrib.django.managing import Manager

collect_ignore = ["project"]  # run by Django


@pytest.fixture
def databases(empty_database: str) -> dict[str, Any]:
    """Return DATABASES with an empty PostgreSQL."""
    url = urlsplit(empty_database)
    [host] = parse_qs(url.query)["host"]
    return {
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": url.path[1:],
            "USER": url.username,
            "HOST": host,
            "OPTIONS": {"application_name": "shop"},
        }
    }


@pytest.fixture
def manage(databases: dict[str, Any], tmp_path: Path) -> Manager:
    return Manager(databases, tmp_path)
