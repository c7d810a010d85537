"""Keys taken from two transactions at once, and migrations from many."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.domain.tenant import DEFAULT
from tenure.errors import KeyTaken
from tenure.store import schema
from tenure.store.call import Call
from tenure.store.calls import control_calls, enqueue_calls, worker_calls
from tenure.store.results import Enqueued
from tenure.store.store import Store
from tests.factories import ending, make_job, make_jobs, make_worker, promote
from tests.store.races.stage import Stage


def keyed(kind: str, *keys: str, **more: object) -> Call[tuple[Enqueued, ...]]:
    jobs = [NewJob(task="work", **{kind: key}, **more) for key in keys]  # type: ignore[arg-type]
    return enqueue_calls.enqueue(jobs)


@pytest.mark.parametrize("kind", ["unique", "idempotency"])
def test_a_key_taken_in_another_transaction_is_waited_for_and_found(
    stage: Stage, kind: str
) -> None:
    a, b = stage.session(), stage.session()

    (first,) = a(keyed(kind, "k"))
    second = stage.waits(b, keyed(kind, "k"))
    a.commit()

    (answer,) = second.result()
    b.commit()
    assert (answer.id, answer.created, answer.taken) == (first.id, False, kind)
    assert stage.one("SELECT count(*) FROM tenure.job") == 1


@pytest.mark.parametrize("kind", ["unique", "idempotency"])
def test_a_key_whose_taker_rolled_back_is_free(stage: Stage, kind: str) -> None:
    a, b = stage.session(), stage.session()

    (first,) = a(keyed(kind, "k"))
    second = stage.waits(b, keyed(kind, "k"))
    a.rollback()

    (answer,) = second.result()
    b.commit()
    assert answer.created
    assert answer.id != first.id
    assert stage.one("SELECT count(*) FROM tenure.payload") == 1


@pytest.mark.parametrize("kind", ["unique", "idempotency"])
def test_keys_taken_in_opposite_orders_do_not_deadlock(stage: Stage, kind: str) -> None:
    a, b = stage.session(), stage.session()
    stage.stop_before("insert_job", a, passes=1)

    first = stage.waits(a, keyed(kind, "a", "b"))
    second = stage.waits(b, keyed(kind, "b", "a"))
    stage.go_on()

    ids = {answer.id for answer in first.result()}
    a.commit()
    assert {answer.id for answer in second.result()} == ids
    b.commit()


def test_a_refused_key_is_refused_after_the_wait(stage: Stage) -> None:
    a, b = stage.session(), stage.session()

    a(keyed("unique", "k"))
    second = stage.waits(b, keyed("unique", "k", when_taken="refuse"))
    a.commit()

    with pytest.raises(KeyTaken, match="unique key 'k'"):
        second.result()
    b.rollback()


def test_a_key_whose_job_ends_while_another_waits_for_it_is_free(
    store: Store, stage: Stage
) -> None:
    make_job(store, unique="k")
    worker = make_worker(store)
    job = worker.claim_one()
    a, b = stage.session(), stage.session()

    a(worker_calls.finish(worker.id, [ending(job)]))
    second = stage.waits(b, keyed("unique", "k"))
    a.commit()

    (answer,) = second.result()
    b.commit()
    assert answer.created
    assert stage.states(job.id, answer.id) == ("completed", "pending")


@pytest.mark.parametrize("first", ["replace", "claim"])
def test_a_replacement_against_a_claim_runs_one_of_them(
    store: Store, stage: Stage, first: str
) -> None:
    old = make_job(store, unique="k")
    worker = make_worker(store)
    a, b = stage.session(), stage.session()
    replacement = keyed("unique", "k", when_taken="replace")

    if first == "claim":
        a(worker_calls.claim(worker.id, 1))
        second = stage.waits(b, replacement)
        a.commit()
        (answer,) = second.result()
        assert (answer.id, answer.created) == (old, False)
    else:
        (answer,) = b(replacement)
        assert a(worker_calls.claim(worker.id, 1)).jobs == ()
        a.commit()
    b.commit()

    live = "SELECT count(*) FROM tenure.job WHERE state IN ('pending', 'running')"
    assert stage.one(live) == 1


@pytest.mark.parametrize("depth", [1, 2])
def test_a_whole_job_that_cannot_end_at_once_is_not_replaced_for_ever(
    store: Store, stage: Stage, depth: int
) -> None:
    make_jobs(
        store,
        [
            NewJob(key="root", unique="k"),
            *([NewJob(key="middle", parent="root")] if depth == 2 else []),
            NewJob(task="work", parent="middle" if depth == 2 else "root"),
        ],
    )
    if depth == 1:
        make_worker(store).claim_one()
    a = stage.session()

    (answer,) = a(keyed("unique", "k", when_taken="replace"))
    a.commit()

    live = "SELECT count(*) FROM tenure.job WHERE right(unique_key, 2) = ':k' AND ended_at IS NULL"
    assert stage.one(live) == 1
    assert answer.taken in (None, "unique")


def test_a_duplicate_at_repeatable_read_is_a_serialization_failure(
    store: Store, stage: Stage
) -> None:
    a = stage.session()
    a.connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    a.connection.execute("SELECT count(*) FROM tenure.job")
    make_job(store, unique="k")

    with pytest.raises(psycopg.errors.SerializationFailure):
        a.connection.execute("""SELECT tenure.enqueue('{"task": "work", "unique": "k"}')""")
    a.rollback()


def test_a_stop_beside_an_enqueue_of_its_key_frees_the_key(store: Store, stage: Stage) -> None:
    old = make_job(store, unique="k")
    a, b = stage.session(), stage.session()

    a(control_calls.stop(old))
    second = stage.waits(b, keyed("unique", "k"))
    a.commit()

    (answer,) = second.result()
    b.commit()
    promote(store)
    assert answer.created
    assert stage.states(old, answer.id) == (State.CANCELLED, State.PENDING)


def test_ten_migrations_at_once_make_one_schema(empty_database: str) -> None:
    def migrate(_: int) -> int:
        with psycopg.connect(empty_database, autocommit=True) as connection:
            return sum(len(plan.migrations) for plan in schema.migrate(connection, DEFAULT))

    with ThreadPoolExecutor(10) as threads:
        done = list(threads.map(migrate, range(10)))

    assert sorted(done)[:9] == [0] * 9
    with psycopg.connect(empty_database, autocommit=True) as connection:
        assert all(plan.is_empty for plan in schema.pending(connection, DEFAULT))
        applied = connection.execute(
            "SELECT count(*), count(DISTINCT (scope, number)) FROM tenure.migration"
        ).fetchone()
        assert applied == (max(done), max(done))
    with Store(empty_database) as store:
        make_job(store)
        assert make_worker(store).claim_one().attempt == 1
