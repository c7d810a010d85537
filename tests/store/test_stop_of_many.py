"""The work of a stop grows with the number of its members, and not faster.

It is counted in rows that PostgreSQL read, for the stop, the progress of its members and their
ends, in batches of the same size.
"""

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tenure.domain.cancellation import CancellationStatus
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Rung
from tenure.store.call import Call
from tenure.store.calls import control_calls, worker_calls
from tenure.store.store import Store
from tests.factories import ending, make_worker, promote

BATCH = 25
FEW, MANY = 4 * BATCH, 32 * BATCH

_READ = """
    SELECT (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)
         + (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = 'tenure')
"""


def rows_read(sql: psycopg.Connection) -> int:
    sql.execute("SELECT pg_stat_force_next_flush()")
    row = sql.execute(_READ).fetchone()
    assert row is not None
    return int(row[0])


def send(sql: psycopg.Connection, call: Call[Any]) -> None:
    sql.execute(call.sql(iter(lambda: "%s", None)).encode(), call.values)


def rows_read_by_a_stop(store: Store, sql: psycopg.Connection, n: int) -> int:
    """Stop a parent of n running jobs on this connection, and end all of them."""
    worker = make_worker(store, timedelta(hours=1))
    children = [NewJob(task="work", parent="whole") for _ in range(n)]
    whole, *_ = store.enqueue([NewJob(task=None, key="whole"), *children])
    promote(store)
    jobs = worker.claim(n)
    assert len(jobs) == n
    times = {"delivered": "2026-01-01T00:00:00.000Z"}

    before = rows_read(sql)
    send(sql, control_calls.stop(whole.id))
    record = store.cancellation(job=whole.id)
    reached = {job.id: times for job in jobs}
    send(sql, control_calls.note_reached(worker.id, record.cancellation_id, reached))
    for start in range(0, n, BATCH):
        some = jobs[start : start + BATCH]
        ends = [ending(job, "stopped", rung=Rung.INTERRUPTED, heard=True) for job in some]
        send(sql, worker_calls.exchange(worker.id, ends, [], promoting=True))
    send(sql, worker_calls.exchange(worker.id, [], [], promoting=True))
    read = rows_read(sql) - before

    assert store.cancellation(job=whole.id).status is CancellationStatus.COMPLETED
    return read


@pytest.mark.fresh_database
@pytest.mark.parametrize("analyzed", [False, True], ids=["never analyzed", "analyzed"])
def test_a_stop_of_eight_times_as_many_jobs_reads_eight_times_as_many_rows(
    store: Store, sql: psycopg.Connection, analyzed: bool
) -> None:
    rows_read_by_a_stop(store, sql, MANY)
    if analyzed:
        sql.execute("ANALYZE")
    few = rows_read_by_a_stop(store, sql, FEW)
    # The better of two: autovacuum may have a snapshot that keeps dead entries in the indexes.
    many = min(rows_read_by_a_stop(store, sql, MANY) for _ in range(2))

    assert many <= few * (MANY // FEW) * 1.25, (few, many)
