"""Shared by the tests of dying workers: start jobs, and count how often they ran."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tenure.domain.job import Job, NewJob
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.workers import FAST, PATIENCE, ROOT, RunningWorker, Watcher, eventually, running_worker

APP = "tests.apps.dying:app"
# Longer than any test waits: a job that is back sooner did not wait for a lease.
LONG = {"TENURE_LEASE": "90s", "TENURE_BEAT": "500ms"}
SHORT = {"TENURE_LEASE": "1s", "TENURE_BEAT": "200ms", "TENURE_RECOVER_EVERY": "200ms"}


class Scene:
    """A database, a folder, and the workers that use them."""

    def __init__(self, url: str, store: Store, folder: Path) -> None:
        self.url = url
        self.store = store
        self.folder = folder
        self.watch = Watcher(store)

    @contextmanager
    def worker(
        self,
        *options: str,
        app: str = APP,
        url: str | None = None,
        host: str = "host",
        **settings: str,
    ) -> Iterator[RunningWorker]:
        with running_worker(
            url or self.url, self.folder, *options, app=app, settings=settings, host=host
        ) as worker:
            yield worker

    @contextmanager
    def starting(
        self, *options: str, app: str = APP, url: str | None = None, **settings: str
    ) -> Iterator[RunningWorker]:
        """Start a worker without waiting for it to run; it may never do so."""
        log = self.folder / f"starting-{len(list(self.folder.glob('starting-*.log')))}.log"
        command = [sys.executable, "-m", "tenure", "worker", app, "--url", url or self.url, "-v"]
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, *options],
                cwd=ROOT,
                env={**os.environ, "TENURE_TEST_FOLDER": str(self.folder), **FAST, **settings},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            yield RunningWorker(process, log)
        finally:
            process.kill()
            process.wait()

    def enqueue(self, job: NewJob) -> int:
        [made] = self.store.enqueue(job)
        return made.id

    def start(self, job: NewJob) -> int:
        """Enqueue a job, and wait until its code runs."""
        id_ = self.enqueue(job)
        self.ran(id_)
        return id_

    def runs(self, job: int) -> list[str]:
        """Return a line for each time the job's code started; see tests/apps/dying.py."""
        try:
            return (self.folder / f"ran-{job}").read_text().splitlines()
        except FileNotFoundError:
            return []

    def ran(self, job: int, times: int = 1, within: float = PATIENCE) -> list[str]:
        eventually(lambda: len(self.runs(job)) >= times, f"job {job} runs {times} times", within)
        return self.runs(job)

    def second_run(self, job: int) -> str:
        return self.ran(job, 2)[1]

    def let_go(self, *jobs: int) -> None:
        for job in jobs:
            (self.folder / f"go-{job}").touch()

    def completes(self, *jobs: int, within: float = PATIENCE) -> list[Job]:
        for job in jobs:
            self.watch.becomes(job, State.COMPLETED, within=within)
        return [self.store.show(job) for job in jobs]

    def living(self) -> set[str]:
        """Return the ids of the workers that are alive."""
        workers = self.store.workers()
        return {str(one.id) for one in workers if one.status in ("alive", "draining")}

    def only_worker(self) -> str:
        [worker] = self.living()
        return worker

    def grandchild(self, job: int) -> psutil.Process:
        place = self.folder / f"grandchild-{job}"
        text = eventually(lambda: place.read_text() if place.exists() else "", "a grandchild")
        return psutil.Process(int(text))

    def outcomes(self, job: int) -> list[str]:
        """Return how the job's attempts ended; an attempt that completed normally is not listed."""
        return [str(attempt["outcome"]) for attempt in self.store.show(job).attempts]


def runner_of(worker: RunningWorker, run: str) -> psutil.Process:
    """Return the process that a line of `runs` names; it must be a runner of the worker."""
    pid = int(run.split()[1])
    return next(runner for runner in worker.runners if runner.pid == pid)


def state_of(process: psutil.Process) -> str:
    """Return the kernel's letter for the state of a process: T is stopped."""
    stat = Path(f"/proc/{process.pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0]


def kill_all(processes: Iterable[psutil.Process]) -> None:
    """Kill all processes as if at once: all are stopped before the first is killed."""
    processes = list(processes)
    for process in processes:
        os.kill(process.pid, signal.SIGSTOP)
    for process in processes:
        os.kill(process.pid, signal.SIGKILL)
