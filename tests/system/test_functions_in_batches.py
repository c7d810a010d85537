"""Quick functions are claimed and run many at a time; each keeps the promises of a lone one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.workers import RunningWorker, Watcher, eventually, running_worker

APP = "tests.apps.batches:app"
TASK = "step"
ONE = {"TENURE_PROCESSES": "1"}


class Batches:
    def __init__(self, store: Store, url: str, folder: Path) -> None:
        self.store, self.url, self.folder = store, url, folder
        self.watch = Watcher(store)

    @contextmanager
    def worker(self, **settings: str) -> Iterator[RunningWorker]:
        with running_worker(self.url, self.folder, app=APP, settings={**ONE, **settings}) as worker:
            yield worker

    def enqueue(self, *hows: str) -> list[int]:
        """Enqueue jobs together, so that they are claimed together."""
        jobs = [NewJob(task=TASK, args={"how": how}, max_attempts=1) for how in hows]
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


@pytest.fixture
def batches(store: Store, database: str, tmp_path: Path) -> Batches:
    return Batches(store, database, tmp_path)


def test_functions_behind_a_long_one_go_back_unspent_and_run_on_another_worker(
    batches: Batches, sql: psycopg.Connection
) -> None:
    with batches.worker() as first:
        batches.warm_up()
        long, *others = batches.enqueue("hold", *[""] * 20)
        batches.begins(long)
        rows = "SELECT state::text, attempt, ready FROM tenure.job WHERE id = ANY (%s)"
        eventually(
            lambda: set(sql.execute(rows, (others,)).fetchall()) == {("pending", 0, True)},
            "those that have not begun are given back",
            5,
        )
        with batches.worker():
            batches.complete(*others)
        assert batches.store.show(long).state is State.RUNNING
        (batches.folder / "go").touch()
        batches.complete(long)
        assert [len(batches.began(job)) for job in others] == [1] * 20
        assert first.drain() == 0


def test_a_long_function_does_not_wait_behind_another_while_a_worker_is_idle(
    batches: Batches,
) -> None:
    with batches.worker(), batches.worker():
        batches.warm_up()
        jobs = batches.enqueue("hold", "hold")
        for job in jobs:
            batches.begins(job, 5)
        (batches.folder / "go").touch()
        batches.complete(*jobs)
        assert [len(batches.began(job)) for job in jobs] == [1, 1]


def test_a_function_that_kills_its_process_is_charged_and_none_beside_it_runs_twice(
    batches: Batches,
) -> None:
    with batches.worker():
        batches.warm_up()
        jobs = batches.enqueue(*[""] * 15, "die", *[""] * 15)
        culprit = jobs.pop(15)
        batches.watch.becomes(culprit, State.FAILED)
        batches.complete(*jobs)
        assert [len(batches.began(job)) for job in (*jobs, culprit)] == [1] * 31
        shown = [batches.store.show(job) for job in jobs]
        assert {(job.attempt, job.crashes, len(job.attempts)) for job in shown} == {(1, 0, 0)}


def test_each_function_has_its_own_output_and_nobody_elses(batches: Batches) -> None:
    with batches.worker():
        batches.warm_up()
        jobs = batches.enqueue(*["print", ""] * 10)
        batches.complete(*jobs)
    for job, prints in zip(jobs, [True, False] * 10, strict=True):
        lines = [line["line"] for line in batches.store.job_output(job, "logs")]
        said = "".join(lines)
        assert said.count("says") == (2 if prints else 0), lines
        assert said.count(f"{job} says") == (2 if prints else 0), lines


def test_a_function_starts_when_it_begins_not_when_it_is_claimed(
    batches: Batches, sql: psycopg.Connection
) -> None:
    with batches.worker():
        batches.warm_up()
        jobs = batches.enqueue(*["nap"] * 15)
        batches.complete(*jobs)
    rows = "SELECT id, extract(epoch FROM started_at), extract(epoch FROM ended_at) FROM tenure.job"
    times = {job: (float(start), float(end)) for job, start, end in sql.execute(rows).fetchall()}
    late = [batches.began(job)[0][0] - times[job][0] for job in jobs]
    assert max(late) < 0.05, "as recorded, it started before it began"
    assert batches.began(jobs[-1])[0][0] - batches.began(jobs[0])[0][0] > 0.1


def test_no_process_has_more_functions_than_the_settings_allow(batches: Batches) -> None:
    with batches.worker(TENURE_RECYCLE_AFTER="7"):
        batches.warm_up()
        jobs = batches.enqueue(*[""] * 30)
        batches.complete(*jobs)
    pids = [batches.began(job)[0][1] for job in jobs]
    assert max(pids.count(pid) for pid in pids) <= 7
    assert [len(batches.began(job)) for job in jobs] == [1] * 30


def test_no_function_runs_in_a_process_where_another_has_left_a_thread(batches: Batches) -> None:
    with batches.worker():
        batches.warm_up()
        before, leaves, *behind = batches.enqueue("", "thread", *[""] * 10)
        batches.complete(before, leaves, *behind)
    left_in = batches.began(leaves)[0][1]
    assert left_in not in [batches.began(job)[0][1] for job in behind]
    assert {batches.store.show(job).attempt for job in behind} == {1}


def test_a_draining_worker_gives_back_what_waits_behind_a_long_function(batches: Batches) -> None:
    with batches.worker() as worker:
        batches.warm_up()
        long, *others = batches.enqueue("hold", *[""] * 10)
        batches.begins(long)
        (batches.folder / "go").touch()
        assert worker.drain() == 0
    states = {batches.store.show(job).state for job in others}
    assert states <= {State.PENDING, State.COMPLETED}
    assert all(
        len(batches.began(job)) == (batches.store.show(job).state is State.COMPLETED)
        for job in others
    )
