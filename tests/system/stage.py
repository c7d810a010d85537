"""Shared by the tests of stops: a worker, running jobs, and a check of what they leave behind."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from tenure.app import Tenure
from tenure.control.handle import Handle
from tenure.control.task import Task
from tenure.domain.cancellation import CancellationRecord
from tenure.domain.lifecycle import Rung, State
from tenure.store.store import Store
from tests.conftest import wipe
from tests.workers import RunningWorker, Watcher, eventually, is_gone, running_worker

Jobs = Handle[Any]


class Stage:
    """A worker at work on the jobs of an app."""

    def __init__(self, store: Store, worker: RunningWorker, folder: Path) -> None:
        self.store = store
        self.worker = worker
        self.folder = folder
        self.watch = Watcher(store)

    def start(self, task: Task[..., Any], *args: Any, **kwargs: Any) -> Jobs:
        """Enqueue a job, and wait until its code runs."""
        handle = task.enqueue(*args, **kwargs)
        self.runs(handle.id)
        return handle

    def runs(self, job: int, times: int = 1) -> None:
        name = f"started-{job}"
        eventually(lambda: len(self.lines(name)) >= times, f"job {job} runs for the {times}. time")

    def lines(self, name: str) -> list[str]:
        """Return the lines that jobs have written to this file."""
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def is_alive(self, pid: int) -> bool:
        """Return whether a process is alive; a zombie is not."""
        try:
            return not is_gone(psutil.Process(pid))
        except psutil.NoSuchProcess:
            return False

    def let(self, what: str) -> None:
        """Create the file that jobs wait for."""
        (self.folder / what).touch()

    def stop(self, handle: Jobs, **how: Any) -> CancellationRecord:
        """Cancel a job and return its record once it is closed."""
        asked = handle.cancel(reason="enough", **how)
        return self.watch.record_ends(asked.cancellation_id)

    def is_stopped(
        self, handle: Jobs, record: CancellationRecord, *rungs: str, state: State = State.CANCELLED
    ) -> None:
        """Check the state, record and rung of a stopped job, and that nothing of it is left."""
        job = self.store.show(handle.id)
        assert job.state is state
        assert (record.status, record.error, record.tasks_open) == ("completed", None, ())
        [member] = [one for one in record.members if one.job_id == handle.id]
        assert (member.was, member.became) == (State.RUNNING, state)
        assert member.rung in rungs, f"{member.rung} is none of {rungs}"
        if Rung.INTERRUPTED <= Rung(str(member.rung)) <= Rung.KILLED:
            assert member.rung in rungs_in(record)[handle.id]
        # The directories of a killed job have a test of their own.
        self.nothing_is_left(handle.id, files=member.rung != Rung.KILLED)

    def nothing_is_left(self, *jobs: int, files: bool = True) -> None:
        """Check that no temporary directory, process or stray process of the jobs is left."""
        folders = [Path(line) for job in jobs for line in self.lines(f"temp-{job}") if files]
        eventually(lambda: not any(map(Path.exists, folders)), f"{folders} are gone", 10)
        pids = [int(line) for job in jobs for line in self.lines(f"pids-{job}")]
        eventually(lambda: not pids or not _alive(pids, self.worker), f"{pids} are gone", 10)
        eventually(lambda: not self.strangers(), "what no runner is answerable for is gone", 10)

    def strangers(self) -> list[psutil.Process]:
        """Return the processes started by jobs that no runner accounts for."""
        own = {self.worker.pid, self.worker.fork_server, *runners_of(self.worker)}
        return [one for one in _started_here(self.folder) if one.pid not in own]


def _alive(pids: list[int], worker: RunningWorker) -> list[int]:
    """Return the processes that are alive, except runners that continue with other jobs."""
    reused = runners_of(worker)
    return [pid for pid in pids if pid not in reused and not _is_gone(pid)]


def runners_of(worker: RunningWorker) -> set[int]:
    """Return the pids of the guard and its runners; retry if one dies meanwhile."""

    def look() -> set[int]:
        try:
            return {worker.guard.pid, *(runner.pid for runner in worker.runners)}
        except psutil.Error:
            return set()

    return eventually(look, "all that can be seen of a worker")


def _is_gone(pid: int) -> bool:
    try:
        return is_gone(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return True


def _started_here(folder: Path) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        try:
            if process.environ().get("TENURE_TEST_FOLDER") == str(folder) and not is_gone(process):
                yield process
        except psutil.Error:
            continue


def rungs_in(record: CancellationRecord) -> dict[int, Mapping[str, datetime]]:
    """Return when each job reached which rung."""
    return {member.job_id: member.reached for member in record.members}


@contextmanager
def staged(
    app: Tenure, url: str, folder: Path, name: str, *options: str, **settings: str
) -> Iterator[Stage]:
    """Yield a stage with a fresh database and a worker for this app of `tests.apps`."""
    wipe(url)
    before, app._url = app._url, url
    try:
        with (
            Store(url) as store,
            running_worker(
                url, folder, *options, app=f"tests.apps.{name}:app", settings=settings
            ) as worker,
        ):
            yield Stage(store, worker, folder)
    finally:
        app.close()
        app._url = before
