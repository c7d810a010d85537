"""The table of threats names tests that exist."""

import re

from tests.named import is_a_test
from tests.workers import ROOT

PAGE = ROOT / "docs" / "security.md"


def test_each_threat_names_a_test_that_exists() -> None:
    _, _, model = PAGE.read_text().partition("## Threat model")
    rows = [line for line in model.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 30
    for row in rows:
        named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", row)
        assert named, f"no test is named in: {row}"
        for file, name in named:
            assert is_a_test(f"tests/{file}::{name}"), f"there is no {file}::{name}"
