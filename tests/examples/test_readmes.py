"""The READMEs of the examples work word for word."""

import re
from pathlib import Path

import pytest

from tests.examples.readmes import follow
from tests.workers import ROOT

EXAMPLES = ROOT / "examples"
INDEX = EXAMPLES / "README.md"
FOLLOWED = ["rag_pipeline", "research_agent", "schedule_planner", "site_crawler"]

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("example", FOLLOWED)
def test_a_readme_works_word_for_word(example: str, tmp_path: Path) -> None:
    assert follow(example, tmp_path) == 0


def test_the_index_names_every_example_and_how_it_is_started() -> None:
    rows = re.findall(r"^\| \[(\w+)\].* \| `(.+)` \|$", INDEX.read_text(), re.MULTILINE)
    assert {name for name, _ in rows} == {page.parent.name for page in EXAMPLES.glob("*/README.md")}
    for name, command in rows:
        if name in FOLLOWED:
            assert f"$ {command}\n" in (EXAMPLES / name / "README.md").read_text()
