"""``tenure worker``: the word that is a command and runs one too."""

import json
import signal
from pathlib import Path

import pytest

from tenure.store.calls import queries
from tenure.store.store import Store
from tests.cli.running import Cli, piped
from tests.factories import make_job, make_worker, promote
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


def test_the_workers_wanted_are_told_with_the_reason_and_whom_to_drain(
    cli: Cli, store: Store
) -> None:
    worker = make_worker(store, capacity={"async": 1, "process": 1})
    told = cli("worker", "scale").out
    assert told.startswith("0 workers wanted, 1 alive: no job runs, and none could start")
    assert f"Drain first:\n  {str(worker.id)[:8]} on test-host: it runs no job" in told
    store.renew(worker.id, run_times={"work": 600.0})
    make_job(store)
    make_job(store)
    promote(store)
    told = cli("worker", "scale", "--min", "1", "--max", "5").out
    assert told.startswith("2 workers wanted, 1 alive: 0 running and 2 ready jobs fill 2.0 slots")
    assert "Drain first" not in told
    assert cli("worker", "scale", "--json").document["wanted"] == 2
    assert "within 1 second to 1 day" in cli("worker", "scale", "--within", "2d").sentence(2)


def test_a_worker_tells_its_capacity_and_how_long_its_tasks_take(
    database: str, store: Store, app: str, tmp_path: Path
) -> None:
    folder = {"TENURE_FOLDER": str(tmp_path / "own"), "TENURE_BEAT": "200ms"}
    with piped(database, "worker", "--concurrency", "7", app, **folder) as running:
        eventually(lambda: [it.status for it in store.workers()] == ["alive"])
        for _ in range(3):
            make_job(store)

        def measured() -> bool:
            make_job(store)
            [work] = store.send(queries.scale()).work or [None]
            return work is not None and work.run_seconds is not None and work.capacity == 7

        eventually(measured)
        running.process.send_signal(signal.SIGTERM)
        assert running.ends() == 0


def test_an_app_that_cannot_be_found_is_told_with_its_exit_code(database: str) -> None:
    with piped(database, "worker", "no.such.module:app") as running:
        assert running.ends() == 3
    assert "tenure: " in running.text.splitlines()[-1]


def test_a_worker_without_an_app_is_a_usage_error(cli: Cli) -> None:
    assert "issing argument" in cli("worker", "run").sentence(2)
    assert "no such option: --bogus" in cli("worker", "--bogus").sentence(2)
