"""A row that a worker cannot read fails, and the rows claimed with it run."""

from pathlib import Path

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.bounds.rows import ODD, UNREADABLE, write
from tests.factories import make_worker
from tests.workers import Watcher, running_worker

ECHO = "tests.apps.jobs.echo"


def echo(store: Store, value: int) -> int:
    [job] = store.enqueue(NewJob(task=ECHO, args={"value": value}, max_attempts=1))
    return job.id


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_row_that_cannot_be_read_does_not_keep_its_neighbours_from_a_claim(
    store: Store, sql: psycopg.Connection, kind: str
) -> None:
    before, bad, after = (echo(store, number) for number in range(3))
    write(sql, UNREADABLE[kind], bad)
    claim = store.claim(make_worker(store).id, 10)
    claimed = {job.id for job in claim.jobs}
    assert {before, after} <= claimed
    assert claimed | {job.id for job in claim.unreadable} == {before, bad, after}


def test_a_worker_sets_rows_aside_that_it_cannot_read_and_runs_the_others(
    database: str, store: Store, sql: psycopg.Connection, tmp_path: Path
) -> None:
    """Every kind at once, with readable jobs on both sides; the worker keeps running."""
    bad: dict[str, int] = {}
    good = [echo(store, 0)]
    for kind, statement in UNREADABLE.items():
        bad[kind] = echo(store, 1)
        write(sql, statement, bad[kind])
        good.append(echo(store, 2))
    with running_worker(database, tmp_path) as worker:
        watch = Watcher(store)
        for job in good:
            watch.becomes(job, State.COMPLETED)
        for kind, job in bad.items():
            watch.becomes(job, State.FAILED)
            assert store.show(job).error_message, kind
        later = echo(store, 3)
        watch.becomes(later, State.COMPLETED)
        assert worker.process.poll() is None, "it is the worker that was started"
    assert len(store.workers(all=True)) == 1, "and it never had to start again"


def test_a_worker_continues_despite_rows_with_unreadable_times(
    database: str, store: Store, sql: psycopg.Connection, tmp_path: Path
) -> None:
    times = [statement for kind, statement in ODD.items() if kind.startswith("run_at")]
    for statement in times:
        write(sql, statement, echo(store, 1))
    with running_worker(database, tmp_path) as worker:
        watch = Watcher(store)
        for number in range(3):
            watch.becomes(echo(store, number), State.COMPLETED)
        worker.says(" runs ")
        assert worker.process.poll() is None
    assert len(store.workers(all=True)) == 1, "it never had to start again"
