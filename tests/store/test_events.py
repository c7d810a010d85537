"""Events for subscribers: each cancellation that begins, moves and ends."""

from collections.abc import Iterator
from typing import Any

import msgspec
import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.store import schema
from tenure.store.store import Store
from tests.conftest import Connect
from tests.factories import end_as_stopped, make_job, make_jobs, make_worker, promote
from tests.store.test_tokens import ACME


@pytest.fixture
def listener(database: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("LISTEN tenure_events")
        yield connection


def heard(listener: psycopg.Connection) -> list[dict[str, Any]]:
    """All that was told so far: what comes with the answer to a query came before it."""
    listener.execute("SELECT 1")
    told = listener.notifies(timeout=0)
    return [msgspec.json.decode(notice.payload) for notice in told]


def test_a_stop_is_told_from_its_beginning_to_its_end(
    store: Store, listener: psycopg.Connection
) -> None:
    ids = make_jobs(
        store,
        [NewJob(key="root"), *(NewJob(key=k, task="work", parent="root") for k in "ab")],
    )
    worker = make_worker(store)
    first, second = worker.claim(2)
    assert heard(listener) == [], "nothing of an ordinary life"
    name = store.stop(ids["root"]).cancellation_id
    about = {"tenant": "default", "kind": "cancellation", "cancellation_id": name}
    about["job_id"] = ids["root"]  # type: ignore[assignment]
    assert heard(listener) == [{**about, "status": "initiated"}]
    end_as_stopped(worker, first)
    assert heard(listener) == [{**about, "status": "stopping_runners"}]
    end_as_stopped(worker, second)
    promote(store)
    told = heard(listener)
    assert told[0] == {**about, "status": "updating_tasks"}, "its root is not over yet"
    assert told[-1] == {**about, "status": "completed"}


def test_what_ends_at_once_is_told_at_once(store: Store, listener: psycopg.Connection) -> None:
    store.stop(make_job(store))
    assert [told["status"] for told in heard(listener)] == ["initiated", "completed"]


def test_a_record_that_is_closed_by_hand_is_told(
    store: Store, listener: psycopg.Connection
) -> None:
    make_job(store)
    worker = make_worker(store)
    name = store.stop(worker.claim_one().id).cancellation_id
    store.close_record(name, "partial", error="it would not die")
    assert [told["status"] for told in heard(listener)] == ["initiated", "partial"]


def test_jobs_that_nobody_stops_tell_nothing(store: Store, listener: psycopg.Connection) -> None:
    make_job(store)
    worker = make_worker(store)
    worker.finish(worker.claim_one())
    promote(store)
    assert heard(listener) == []


def test_a_stop_that_is_not_committed_was_never_told(
    store: Store, connect: Connect, listener: psycopg.Connection
) -> None:
    caller = connect()
    caller.execute("SELECT tenure.stop(%s)", (make_job(store),))
    caller.rollback()
    assert heard(listener) == []


def test_each_tenant_is_named(
    sql: psycopg.Connection, database: str, listener: psycopg.Connection
) -> None:
    schema.migrate(sql, ACME)
    with Store(database, ACME) as acme:
        acme.stop(make_job(acme))
    assert {told["tenant"] for told in heard(listener)} == {"acme"}
