"""The tests on the page about testing, run by pytest in a folder as on the page."""

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.reading import code, modules, write
from tests.workers import ROOT

PAGE = ROOT / "docs" / "how-to" / "testing.md"


def test_the_tests_on_the_page_pass(tmp_path: Path, server: str) -> None:
    write(PAGE, tmp_path)
    [setting] = code(PAGE, "ini")
    theirs = "postgresql://localhost/postgres"
    assert theirs in setting
    (tmp_path / "pytest.ini").write_text(setting.replace(theirs, server))
    env = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    plugin = ["-p", "tenure.testing.plugin", "-p", "no:cacheprovider", "-W", "error"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", *plugin],
        cwd=tmp_path,
        env={**env, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for file in modules(PAGE):
        tests = modules(PAGE)[file].count("def test_")
        assert done.stdout.count(f"PASSED {file}.py::") == tests, done.stdout
    assert not (tmp_path / ".tenure").exists()


def test_every_event_of_a_trigger_is_on_the_page() -> None:
    from tenure.testing.triggers import At

    text = PAGE.read_text()
    assert [name for name in At.__annotations__ if f"`{name}`" not in text] == []
