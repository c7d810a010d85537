"""What the demo plays on: ``tenure up`` and a second worker, as processes of their own."""

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
from tenure.store.store import Store

T = TypeVar("T")

APP = "demo.tasks:app"
LEASE = 2.0  # seconds; in production it is longer
PATIENCE = 60.0  # seconds, for whatever must happen
_TENURE = [sys.executable, "-m", "tenure"]


@dataclass
class Surroundings:
    store: Store
    address: str
    folder: Path
    environment: dict[str, str] = field(repr=False)

    def command(self, *words: str) -> int:
        """A command of the command line, as anybody would type it; its exit code."""
        return subprocess.run([*_TENURE, *words], env=self.environment).returncode  # noqa: S603

    def keeper_of(self, job: int) -> int:
        """The process that holds the lease of the worker that runs this job."""
        name = self.store.show(job).worker_id
        return next(one.pid for one in self.store.workers() if str(one.id) == name)

    @contextmanager
    def second_worker(self) -> Iterator[None]:
        before = len(self.store.workers())
        with _running(["worker", "run", APP], self.environment, self.folder / "second.log"):
            eventually(lambda: len(self.store.workers()) > before)
            yield


@contextmanager
def surroundings(folder: Path) -> Iterator[Surroundings]:
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
        told = msgspec.json.decode(eventually(lambda: _first_line(process, log)))
        if "api" not in told:
            raise RuntimeError(f"tenure up did not start: {told}")
        with Tenure(settings=Settings(folder=place)) as client:
            eventually(client.store.workers)
            yield Surroundings(client.store, told["api"], place, environment)


def eventually(look: Callable[[], T]) -> T:
    """What is looked for, as soon as it is there."""
    until = time.monotonic() + PATIENCE
    while not (found := look()):
        if time.monotonic() > until:
            raise TimeoutError(f"this did not happen within {PATIENCE:g} s")
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
    """Drained at the end, as Ctrl-C does; killed if that does not help."""
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
