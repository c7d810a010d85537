"""Real workers for tests: started as a user would, watched by their log, ended afterwards."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import psutil

from tenure.domain.cancellation import CancellationRecord
from tenure.domain.lifecycle import State
from tenure.store.store import Store

T = TypeVar("T")

ROOT = Path(__file__).parent.parent
APP = "tests.apps.jobs:app"
# Seconds to wait for an event without a deadline: far longer than it takes on a busy machine, but
# shorter than any lease or poll interval that a test must not depend on.
PATIENCE = 45.0
# Short, so that a lost worker is noticed within a test; long enough for a busy machine.
FAST = {"TENURE_LEASE": "3s", "TENURE_BEAT": "500ms", "TENURE_RECOVER_EVERY": "300ms"}


def eventually(
    look: Callable[[], T], what: str | Callable[[], str] = "", within: float = PATIENCE
) -> T:
    """Call ``look`` until it returns something true; ``what`` describes that in a failure."""
    began = time.monotonic()
    while True:
        found = look()
        if found:
            return found
        waited = time.monotonic() - began
        if waited >= within:
            described = what() if callable(what) else what or str(look)
            raise AssertionError(f"not within {within} s: {described}")
        # Poll less often after a while: constant polling slows down what the test waits for.
        time.sleep(min(0.01 + waited / 50, 0.04))


class RunningWorker:
    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.process = process
        self.pid = process.pid
        self._log = log

    @property
    def log(self) -> str:
        return self._log.read_text()

    def says(self, text: str, within: float = PATIENCE) -> str:
        """Return the log as soon as it contains this text."""
        eventually(lambda: text in self.log, lambda: f"{text!r} in:\n{self.log}", within)
        return self.log

    def ends_under_signals(self, number: signal.Signals) -> int:
        """Send this signal repeatedly until the worker ends; return its exit code."""
        until = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < until, f"it did not end:\n{self.log}"
            self.signal(number)
            time.sleep(0.0005)
        return self.ends()

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def ends(self, within: float = PATIENCE) -> int:
        """Wait for the worker to end; return its exit code."""
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not end within {within} s:\n{self.log}") from None

    def drain(self) -> int:
        self.signal(signal.SIGTERM)
        return self.ends()

    @property
    def tree(self) -> list[psutil.Process]:
        """All processes of the worker, the keeper first."""
        keeper = psutil.Process(self.pid)
        return [keeper, *keeper.children(recursive=True)]

    @property
    def guard(self) -> psutil.Process:
        return next(process for process in self.tree if _is_guard(process))

    @property
    def runners(self) -> list[psutil.Process]:
        """The processes that run jobs, or will; not the one from which they are forked."""
        others = [process for process in self.guard.children() if _is_runner(process)]
        return [process for process in others if process.pid != self.fork_server]

    @property
    def fork_server(self) -> int | None:
        """The pid of the process from which runners are forked; None if they are spawned."""
        said = re.findall(r"runners are started by (?:fork, from pid (\d+)|spawn)", self.log)
        return int(said[-1]) if said and said[-1] else None


def _is_guard(process: psutil.Process) -> bool:
    return any(part.endswith("tenure/runtime/guard") for part in command_of(process))


def _is_runner(process: psutil.Process) -> bool:
    return "tenure.runtime.runner" in command_of(process)


def command_of(process: psutil.Process) -> list[str]:
    """Return the command line of a process; an empty list if it has ended."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


# For modules of tests that concern how runners start and die; the others take what is set.
RUNNER_STARTS = [os.environ.get("TENURE_RUNNER_START")] * ("TENURE_RUNNER_START" in os.environ) or [
    "auto",
    "spawn",
]


def site_in(folder: Path) -> dict[str, str]:
    """Return the setting with which a worker reads ``sitecustomize.py`` of a folder first."""
    return {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", str(ROOT))])}


def runner_start() -> dict[str, str]:
    """Return the settings with which the tests may be run: how runners start, portable mode."""
    names = ("TENURE_RUNNER_START", "TENURE_PORTABLE")
    return {name: os.environ[name] for name in names if name in os.environ}


@contextmanager
def running_worker(
    url: str,
    folder: Path,
    *options: str,
    app: str = APP,
    settings: Mapping[str, str] | None = None,
    host: str = "host",
) -> Iterator[RunningWorker]:
    """Run a worker, and remove everything it leaves, whatever the test did to it.

    Only workers with the same folder and host see the leftovers of one another.
    """
    number = len(list(folder.glob("worker-*.log")))
    log = folder / f"worker-{number}.log"
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("TENURE_")},
        "TENURE_FOLDER": str(folder / "tenure"),
        "TENURE_TEST_FOLDER": str(folder),
        "TMPDIR": str(folder / host),
        **FAST,
        **runner_start(),
        **(settings or {}),
    }
    (folder / host).mkdir(exist_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tenure", "worker", app, "--url", url, "-v", *options],
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    worker = RunningWorker(process, log)
    seen: dict[int, psutil.Process] = {}
    try:
        eventually(lambda: " runs " in worker.log or process.poll() is not None, "it runs or ends")
        assert " runs " in worker.log, f"it ended:\n{worker.log}"
        yield worker
    finally:
        if process.poll() is None:
            seen = {one.pid: one for one in worker.tree}
            for one in seen.values():
                _end(one)
            process.kill()
            process.wait()
        psutil.wait_procs(seen.values(), timeout=10)


def _end(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return


def is_gone(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or not _has_living_thread(process.pid)
    except psutil.NoSuchProcess:
        return True


def _has_living_thread(pid: int) -> bool:
    """Check every thread: the others may keep running after the main thread has ended."""
    try:
        stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:  # a thread ended meanwhile
        return psutil.pid_exists(pid) and _has_living_thread(pid)
    return any(stat.rpartition(")")[2].split()[0] not in "ZX" for stat in stats)


class Watcher:
    """Poll jobs until a condition holds."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def state(self, job: int) -> State:
        return self._store.show(job).state

    def becomes(self, job: int, *states: State, within: float = PATIENCE) -> State:
        wanted = set(states)

        def look() -> State | None:
            state = self.state(job)
            return state if state in wanted else None

        found = eventually(look, f"job {job} becomes {', '.join(states)}", within)
        assert found is not None
        return found

    def record_ends(self, cancellation: str, within: float = PATIENCE) -> CancellationRecord:
        def look() -> CancellationRecord | None:
            record = self._store.cancellation(cancellation)
            return record if record.completed_at is not None else None

        found = eventually(look, f"{cancellation} ends", within)
        assert found is not None
        return found
