"""A real worker, started as a user would start it, and what the kernel knows of its processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TypeVar

import psutil

from bench.server import Server
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.store.store import Store

T = TypeVar("T")

ROOT = Path(__file__).parent.parent
APP = "bench.apps:app"
WARM = "warm"  # a queue that is never paused
PATIENCE = 60.0


@dataclass(frozen=True)
class Amounts:
    """How much is measured."""

    seconds: int = 1200  # that all of it takes, about
    rounds: int = 3
    jobs: int = 60_000  # in one round
    in_processes: int = 30_000
    work: float = 10.0  # seconds of one process, for functions that take a while
    latencies: int = 300
    beats: int = 20  # stops that a beat brings
    kills: int = 30
    closes: int = 30
    sleeping: int = 1_000
    asleep: int = 10_000
    asleep_in_processes: int = 200
    idle: float = 30.0  # seconds
    commands: int = 20  # of the CLI, each kind


QUICK = Amounts(
    seconds=140,
    rounds=1,
    jobs=10_000,
    in_processes=3_000,
    work=1.0,
    latencies=10,
    beats=3,
    kills=2,
    closes=5,
    sleeping=1_000,
    asleep=200,
    asleep_in_processes=20,
    idle=5.0,
    commands=3,
)


@dataclass(frozen=True)
class Bench:
    server: Server
    amounts: Amounts
    folder: Path  # what workers and jobs write


class Worker:
    def __init__(self, process: "subprocess.Popen[bytes]", log: Path, folder: Path) -> None:
        self._process = process
        self._log = log
        self.folder = folder
        self.keeper = psutil.Process(process.pid)

    @property
    def guard(self) -> psutil.Process:
        return next(one for one in self.keeper.children() if _is_guard(one))

    @property
    def runners(self) -> list[psutil.Process]:
        return [one for one in self.guard.children() if _is_runner(one)]

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def until(
        self,
        look: Callable[[], T | None],
        what: str,
        within: float = PATIENCE,
        every: float = 0.005,
    ) -> T:
        """What is looked for, as soon as it is there; a worker that is gone will not bring it."""
        end = time.monotonic() + within
        while True:
            if found := look():
                return found
            problem = None
            if self._process.poll() is not None:
                problem = f"the worker ended ({self._process.returncode}) before {what}"
            elif time.monotonic() > end:
                problem = f"not within {within:g} s: {what}"
            if problem:
                raise RuntimeError(f"{problem}; its log ends:\n{self.log[-4000:]}")
            time.sleep(every)

    def noted(self, name: str, lines: int = 1) -> list[int]:
        """The numbers that a job wrote into a file, once there are so many."""
        path = self.folder / name

        def look() -> list[str] | None:
            text = path.read_text() if path.exists() else ""
            return text.split() if text.count("\n") >= lines else None

        return [int(line) for line in self.until(look, name)]

    def warm_up(self, store: Store, queue: str = WARM) -> psutil.Process:
        """Let it run a coroutine; the loop runner that it began for it."""
        [made] = store.enqueue([NewJob(task="where", queue=queue)])

        def look() -> int | None:
            job = store.show(made.id)
            return int(job.result) if job.state is State.COMPLETED else None

        pid = self.until(look, "a first job ran")
        self.until(lambda: len(self.runners) > 1, "there was a spare")
        return psutil.Process(pid)

    def end(self) -> None:
        """Let it drain, hurry it, kill it: nothing of it is left."""
        tree = self._tree()
        for patience in (1.0, 15.0):
            if self._process.poll() is None:
                os.kill(self._process.pid, signal.SIGTERM)
                _wait(self._process, patience)
        if self._process.poll() is None:
            tree = self._tree()
            self._process.kill()
            self._process.wait()
        # A guard outlives its keeper for as long as it takes to kill the rest.
        _, alive = psutil.wait_procs(tree, timeout=10)
        for process in alive:
            process.kill()

    def _tree(self) -> list[psutil.Process]:
        try:
            return self.keeper.children(recursive=True)
        except psutil.NoSuchProcess:
            return []


@contextmanager
def worker(bench: Bench, url: str, *options: str, app: str = APP) -> Iterator[Worker]:
    """A worker at work on this database."""
    folder = bench.folder / f"worker-{next(_numbers)}"
    folder.mkdir()
    log = folder / "log"
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("TENURE_") or name == "TENURE_RUNNER_START"  # to compare both
    }
    env = {**ours, "TENURE_FOLDER": str(folder / "tenure"), "BENCH_FOLDER": str(folder)}
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "tenure", "worker", app, "--url", url, *options],
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    running = Worker(process, log, folder)
    try:
        running.until(lambda: " runs " in running.log, "it was ready")
        yield running
    finally:
        running.end()


def _is_guard(process: psutil.Process) -> bool:
    return any(part.endswith("tenure/runtime/guard") for part in process.cmdline())


def _is_runner(process: psutil.Process) -> bool:
    try:
        return "tenure.runtime.runner" in process.cmdline()
    except psutil.NoSuchProcess:
        return False


def _wait(process: "subprocess.Popen[bytes]", seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return


_numbers = count(1)
