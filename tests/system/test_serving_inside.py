"""A worker inside a service: how it leaves when its server is told to, or reloads the program."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tenure.app import Tenure
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.apps import mounting
from tests.workers import FAST, ROOT, RunningWorker, Watcher, eventually, runner_start

SERVICE = "tests.apps.mounting:service"
FROM_CODE = "import sys, uvicorn; uvicorn.run({!r}, port=0, reload=True, reload_dirs=[sys.argv[1]])"


@pytest.fixture
def app(database: str) -> Iterator[Tenure]:
    before, mounting.jobs._url = mounting.jobs._url, database
    yield mounting.jobs
    mounting.jobs.close()
    mounting.jobs._url = before


@contextmanager
def serving(database: str, folder: Path, command: Sequence[str]) -> Iterator[RunningWorker]:
    """A server with a worker inside, at work; nothing of it is left afterwards."""
    log = folder / "server.log"
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("TENURE_")},
        **FAST,
        **runner_start(),
        "TENURE_DATABASE_URL": database,
        "TENURE_FOLDER": str(folder / "tenure"),
        "TMPDIR": str(folder),
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    server = RunningWorker(process, log)
    seen: list[psutil.Process] = []
    try:
        server.says(" runs ")
        seen = server.tree
        yield server
    finally:
        if process.poll() is None:
            seen += server.tree
        for one in seen:
            if one.is_running():
                one.kill()
        process.wait()


def start(store: Store) -> int:
    job = mounting.sleeps.enqueue().id
    Watcher(store).becomes(job, State.RUNNING)
    eventually(lambda: store.show(job).progress, "its code runs")
    return job


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_to_the_server_hurries_the_worker_inside(
    app: Tenure, store: Store, database: str, tmp_path: Path, number: signal.Signals
) -> None:
    command = ["-m", "uvicorn", SERVICE, "--port", "0"]
    with serving(database, tmp_path, command) as server:
        job = start(store)
        server.signal(number)
        server.says("draining: its program asked")
        assert server.process.poll() is None, "its jobs have 300 s"
        server.signal(number)
        server.says("hurrying: its program asked, again")
        server.ends()
        assert "Application shutdown complete" in server.log
    seen = store.show(job)
    assert (seen.state, seen.attempt) == (State.PENDING, 0), "given back, unspent"


@pytest.mark.parametrize("how", ["command", "code"])
def test_under_a_server_that_reloads_the_drain_is_short(
    app: Tenure, store: Store, database: str, tmp_path: Path, how: str
) -> None:
    watched = tmp_path / "watched"
    watched.mkdir()
    file = watched / "changed.py"
    file.touch()
    command = {
        "command": ["-m", "uvicorn", SERVICE, "--port", "0", "--reload", "--reload-dir"],
        "code": ["-c", FROM_CODE.format(SERVICE)],
    }[how]
    with serving(database, tmp_path, [*command, str(watched)]) as server:
        job = start(store)
        os.utime(file, (0, 0))
        file.write_text("changed = True\n")
        eventually(lambda: server.log.count(" runs ") == 2, "the program is started again")
        eventually(lambda: store.show(job).state is State.RUNNING, "and so is the job")
        assert store.show(job).attempt == 1, "the first run is unspent"
        server.signal(signal.SIGINT)
        server.ends()
        assert server.log.count("hurrying: its program asked, again") == 2
    assert store.show(job).state is State.PENDING
