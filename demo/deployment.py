"""The processes of the demo: ``tenure up`` and a second worker."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

from tenure import Settings, Tenure
from tenure.verbs import Store

T = TypeVar("T")

APP = "demo.tasks:app"
LEASE = 2.0  # seconds; longer in production
PATIENCE = 60.0  # seconds to wait for any condition
_TENURE = [sys.executable, "-m", "tenure"]


@dataclass
class Deployment:
    store: Store
    address: str
    folder: Path
    environment: dict[str, str] = field(repr=False)

    def command(self, *words: str) -> int:
        """Run a ``tenure`` command and return its exit code."""
        return subprocess.run([*_TENURE, *words], env=self.environment).returncode  # noqa: S603

    def keeper_of(self, job: int) -> int:
        """Return the pid of the keeper that runs this job."""
        name = self.store.show(job).worker_id
        return next(worker.pid for worker in self.store.workers() if str(worker.id) == name)

    @contextmanager
    def second_worker(self) -> Iterator[None]:
        before = len(self.store.workers())
        with _running(["worker", "run", APP], self.environment, self.folder / "second.log"):
            eventually(lambda: len(self.store.workers()) > before)
            yield


@contextmanager
def deploy(folder: Path) -> Iterator[Deployment]:
    place = folder / "tenure"
    environment = {
        **os.environ,
        "TENURE_FOLDER": str(place),
        "TENURE_LEASE": f"{LEASE:g}s",
        "TENURE_BEAT": f"{LEASE / 4:g}s",
        "TENURE_RECOVER_EVERY": f"{LEASE / 4:g}s",
        "TENURE_DRAIN_GRACE": "5s",
        "TENURE_DATABASE_URL": "",
        "TENURE_TOKEN": "",
    }
    log = folder / "up.log"
    with _running(["up", APP, "--port", "0", "--json"], environment, log) as process:
        started = msgspec.json.decode(eventually(lambda: _first_line(process, log)))
        if "api" not in started:
            raise RuntimeError(f"tenure up did not start: {started}")
        with Tenure(settings=Settings(folder=place)) as client:
            eventually(client.store.workers)
            yield Deployment(client.store, started["api"], place, environment)


def eventually(poll: Callable[[], T]) -> T:
    """Call a function until its result is true, and return the result."""
    until = time.monotonic() + PATIENCE
    while not (found := poll()):
        if time.monotonic() > until:
            raise TimeoutError(f"the condition was not met within {PATIENCE:g} s")
        time.sleep(0.02)
    return found


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def _first_line(process: subprocess.Popen[bytes], log: Path) -> str:
    if process.poll() is not None:
        raise RuntimeError(f"tenure up ended with code {process.returncode}:\n{log.read_text()}")
    lines = log.read_text().splitlines()
    return lines[0] if lines else ""


@contextmanager
def _running(
    words: list[str], environment: dict[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a ``tenure`` command; drain it at the end like Ctrl-C, or kill it after 20 s."""
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603
            [*_TENURE, *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
