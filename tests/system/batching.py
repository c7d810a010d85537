"""Shared by the tests of functions that are claimed and run in batches."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.workers import RunningWorker, Watcher, eventually, running_worker

APP = "tests.apps.batches:app"
TASK = "step"
ONE = {"TENURE_PROCESSES": "1"}


def step(how: str = "", **fields: Any) -> NewJob:
    return NewJob(task=TASK, args={"how": how}, **{"max_attempts": 1, **fields})


class Batches:
    def __init__(self, store: Store, url: str, folder: Path) -> None:
        self.store, self.url, self.folder = store, url, folder
        self.watch = Watcher(store)

    @contextmanager
    def worker(self, **settings: str) -> Iterator[RunningWorker]:
        with running_worker(self.url, self.folder, app=APP, settings={**ONE, **settings}) as worker:
            yield worker

    def enqueue(self, *hows: str, **fields: Any) -> list[int]:
        """Enqueue jobs together, so that they are claimed together."""
        return self.enqueue_jobs(*(step(how, **fields) for how in hows))

    def enqueue_jobs(self, *jobs: NewJob) -> list[int]:
        return [made.id for made in self.store.enqueue(jobs)]

    def warm_up(self) -> None:
        """Let the worker learn that the functions of this task are quick."""
        for _ in range(4):
            self.complete(*self.enqueue(*[""] * 10))

    def complete(self, *jobs: int) -> None:
        for job in jobs:
            self.watch.becomes(job, State.COMPLETED)

    def began(self, job: int) -> list[tuple[float, int]]:
        """Return the time and the process of each run."""
        place = self.folder / f"began-{job}"
        lines = place.read_text().splitlines() if place.exists() else []
        return [(float(line.split()[0]), int(line.split()[1])) for line in lines]

    def begins(self, job: int, within: float = 30.0) -> None:
        eventually(lambda: self.began(job), f"job {job} begins", within)

    def given_back(self, *jobs: int) -> bool:
        """Return whether these jobs are ready for any worker, and have spent no attempt."""
        rows = "SELECT state::text, attempt, ready FROM tenure.job WHERE id = ANY (%s)"
        with psycopg.connect(self.url) as connection:
            found = set(connection.execute(rows, (list(jobs),)).fetchall())
        return found == {("pending", 0, True)}
