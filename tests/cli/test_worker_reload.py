"""``tenure worker --reload``, as a developer would use it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.cli.reloading import snapshot
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.factories import make_job
from tests.workers import eventually

APP = """
import time
from tenure import Tenure

app = Tenure()

@app.task(name="version")
def version() -> int:
    return {version}

@app.task(name="sleep")
def sleep() -> None:
    time.sleep(3600)
"""


class Developer:
    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.write(1)
        env = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tenure", "worker", "shop.py:app", "--reload"],
                cwd=folder,
                env={**env, "TENURE_DATABASE_URL": url},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def output(self) -> Path:
        return self.folder / "output"

    def write(self, version: int | str) -> None:
        (self.folder / "shop.py").write_text(APP.format(version=version))

    def sees(self, text: str) -> None:
        eventually(lambda: text in self.output.read_text(), lambda: self.output.read_text())


@pytest.fixture
def developer(tmp_path: Path, database: str) -> Iterator[Developer]:
    made = Developer(tmp_path, database)
    yield made
    if made.process.poll() is None:
        made.process.terminate()
        made.process.wait(60)


def test_a_changed_file_is_run_by_a_new_worker(developer: Developer, store: Store) -> None:
    def result() -> object:
        job = make_job(store, "version")
        eventually(lambda: store.show(job).state is State.COMPLETED, developer.output.read_text)
        return store.show(job).result

    assert result() == 1
    busy = make_job(store, "sleep")
    eventually(lambda: store.show(busy).state is State.RUNNING)
    developer.write(2)
    developer.sees("shop.py changed: the worker starts again")
    assert result() == 2, "a running job does not hold up the new worker"
    developer.write("(")
    developer.sees("the worker ended with code 3; waiting for a change")
    developer.write(3)
    assert result() == 3


def test_one_ctrl_c_ends_it_although_a_job_runs(developer: Developer, store: Store) -> None:
    busy = make_job(store, "sleep")
    eventually(lambda: store.show(busy).state is State.RUNNING, developer.output.read_text)
    developer.process.send_signal(signal.SIGINT)
    developer.process.wait(60)
    assert store.show(busy).state is State.PENDING, "it was given back"
    assert [worker.status for worker in store.workers()] == []


def test_only_python_files_of_the_project_count(tmp_path: Path) -> None:
    for name in ("a.py", "b.txt", ".venv/c.py", "venv/d.py", "pkg/e.py", "__pycache__/f.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = {os.path.relpath(path, tmp_path) for path in snapshot(tmp_path)}
    assert found == {"a.py", "pkg/e.py"}
