"""The guides for those who come from another system: their code runs, and their tests pass."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.reading import modules, write
from tests.workers import ROOT

GUIDES = sorted((ROOT / "docs" / "how-to").glob("from-*.md"))
TESTED = [page for page in GUIDES if any(name.startswith("test_") for name in modules(page))]


def test_the_tests_of_the_guides_pass(tmp_path: Path, server: str) -> None:
    assert len(TESTED) >= 4
    for page in TESTED:
        write(page, tmp_path)
    number = sum(text.count("def test_") for page in TESTED for text in modules(page).values())
    plugin = ["-p", "tenure.testing.plugin", "-p", "no:cacheprovider", "-W", "error"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugin, "-o", f"tenure_database_url={server}"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert f"{number} passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_a_guide_names_what_you_give_up_or_look_out_for(page: Path) -> None:
    text = page.read_text()
    assert "\n|---" in text
    if page in TESTED:
        assert "\n## What you give up\n" in text
        assert text.count("```python\n") == 3
