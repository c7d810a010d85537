"""``tenure worker``: the word that is a command and runs one too."""

import json
import signal
from pathlib import Path

import pytest

from tenure.store.store import Store
from tests.cli.running import Cli, piped
from tests.workers import eventually

APP = """
from tenure import Tenure

app = Tenure()


@app.task(name="work")
async def work() -> int:
    return 1
"""


@pytest.fixture
def app(tmp_path: Path) -> str:
    (tmp_path / "worker_app.py").write_text(APP)
    return str(tmp_path / "worker_app.py")


@pytest.mark.parametrize("word", [[], ["run"]])
def test_an_app_is_run_with_and_without_the_word(
    database: str, store: Store, app: str, word: list[str], tmp_path: Path
) -> None:
    folder = {"TENURE_FOLDER": str(tmp_path / "own")}
    with piped(database, "worker", *word, "--json", app, **folder) as running:
        running.shows("tenure.rollback, work")
        eventually(lambda: [it.status for it in store.workers()] == ["alive"])
        running.process.send_signal(signal.SIGTERM)
        assert running.ends() == 0
    said = [json.loads(line) for line in running.text.splitlines()]
    assert any("tenure.rollback, work" in line["message"] for line in said)


def test_an_app_that_cannot_be_found_is_told_with_its_exit_code(database: str) -> None:
    with piped(database, "worker", "no.such.module:app") as running:
        assert running.ends() == 3
    assert "tenure: " in running.text.splitlines()[-1]


def test_a_worker_without_an_app_is_a_usage_error(cli: Cli) -> None:
    assert "issing argument" in cli("worker", "run").sentence(2)
    assert "no such option: --bogus" in cli("worker", "--bogus").sentence(2)
