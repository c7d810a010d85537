"""Names that somebody made up cost nothing for long: those without jobs are forgotten."""

import psycopg
import pytest

from tenure.store.store import Store
from tests.conftest import Connect
from tests.factories import announcement, make_job


def lanes(sql: psycopg.Connection) -> set[str]:
    return {queue for (queue,) in sql.execute("SELECT queue FROM tenure.lane").fetchall()}


def fill(sql: psycopg.Connection, n: int = 1500) -> None:
    sql.execute(
        f"INSERT INTO tenure.lane (queue, task) SELECT 'made up ' || n, 'work' "
        f"FROM generate_series(1, {n}) AS n".encode()
    )


def test_a_queue_without_jobs_is_forgotten_and_one_with_a_job_is_not(
    store: Store, sql: psycopg.Connection
) -> None:
    job = make_job(store, queue="kept")
    fill(sql)
    store.prune({})
    assert lanes(sql) == {"kept"}
    assert store.show(job).queue == "kept"


def test_a_few_queues_without_jobs_are_left_alone(store: Store, sql: psycopg.Connection) -> None:
    fill(sql, 5)
    store.prune({})
    assert len(lanes(sql)) == 5


def test_a_job_on_its_way_into_a_queue_keeps_it(
    store: Store, sql: psycopg.Connection, connect: Connect
) -> None:
    """Its row is not committed yet, so nobody else sees it: the lock of a reader must do."""
    store.announce_tasks([announcement("work")])
    fill(sql)
    other = connect()
    with other.transaction():
        other.execute("""SELECT tenure.enqueue('{"task": "work", "queue": "made up 7"}')""")
        store.prune({})
        assert len(lanes(sql)) == 1500, "it is left to the next time"
    store.prune({})
    assert lanes(sql) == {"made up 7"}
    assert store.statistics().queues["made up 7"].by_status == {"queued": 1}


def test_an_old_snapshot_cannot_bring_a_forgotten_queue_back(
    store: Store, sql: psycopg.Connection, connect: Connect
) -> None:
    """At REPEATABLE READ it still sees the queue; a job in it would never be found."""
    fill(sql)
    other = connect()
    other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    other.execute("SELECT 1 FROM pg_class LIMIT 1")
    store.prune({})
    with pytest.raises(psycopg.errors.SerializationFailure):
        other.execute("""SELECT tenure.enqueue('{"task": "work", "queue": "made up 7"}')""")
    other.execute("ROLLBACK")
    assert store.list_jobs() == ()
