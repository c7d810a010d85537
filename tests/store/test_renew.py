"""renew: one row for the lease, and everything the worker must hear."""

from datetime import timedelta
from uuid import uuid4

import psycopg
import pytest

from tenure.domain.lifecycle import Intent, Rung, State, Status
from tenure.errors import InputRefused, NotFound
from tenure.store.store import Store
from tenure.testing import Clock
from tests.conftest import Connect
from tests.factories import end_as_stopped, make_job, make_worker, promote, set_back


def test_a_renewal_pushes_the_lease_out_by_its_length(
    store: Store, clock: Clock, sql: psycopg.Connection
) -> None:
    worker = make_worker(store, timedelta(seconds=15))
    clock.advance(timedelta(seconds=10))

    renewal = store.renew(worker.id)

    assert renewal.alive
    assert not renewal.draining
    row = sql.execute("SELECT beat_at, expires_at FROM tenure.worker").fetchone()
    assert row is not None
    assert row[1] == renewal.expires_at == row[0] + timedelta(seconds=15)
    (now,) = sql.execute("SELECT tenure.now()").fetchone() or (None,)
    assert timedelta(0) <= now - row[0] < timedelta(seconds=5)


def test_a_renewal_never_shortens_a_lease(
    store: Store, sql: psycopg.Connection, clock: Clock
) -> None:
    """Also when the clock went back."""
    worker = make_worker(store)
    before = store.renew(worker.id).expires_at
    set_back(sql, timedelta(hours=1))
    assert store.renew(worker.id).expires_at == before


def test_a_late_renewal_counts_as_long_as_nobody_declared_the_worker_dead(
    store: Store, clock: Clock
) -> None:
    job = make_job(store)
    worker = make_worker(store, timedelta(seconds=15))
    clock.advance(timedelta(hours=1))
    assert worker.claim() == ()
    assert store.renew(worker.id).alive
    assert worker.claim_one().id == job


def test_a_dead_worker_stays_dead(store: Store, sql: psycopg.Connection) -> None:
    worker = make_worker(store)
    sql.execute("UPDATE tenure.worker SET expires_at = now() - interval '1s', dead_at = now()")
    before = sql.execute("SELECT * FROM tenure.worker").fetchall()
    renewal = store.renew(worker.id)
    assert not renewal.alive
    assert renewal.signals == ()
    assert sql.execute("SELECT * FROM tenure.worker").fetchall() == before


def test_a_worker_that_left_or_was_never_registered_is_not_alive(store: Store) -> None:
    worker = make_worker(store)
    store.leave(worker.id)
    assert not store.renew(worker.id).alive
    assert not store.renew(uuid4()).alive


def test_the_renewal_of_one_worker_touches_no_other(store: Store, sql: psycopg.Connection) -> None:
    one, two = make_worker(store), make_worker(store)
    before = sql.execute("SELECT * FROM tenure.worker WHERE id = %s", (two.id,)).fetchall()
    store.renew(one.id)
    assert sql.execute("SELECT * FROM tenure.worker WHERE id = %s", (two.id,)).fetchall() == before


def test_a_renewal_writes_one_row_whatever_the_worker_holds(
    store: Store, sql: psycopg.Connection
) -> None:
    for _ in range(5):
        make_job(store)
    worker = make_worker(store)
    worker.claim(5)
    before = sql.execute("SELECT xmin::text FROM tenure.job").fetchall()
    store.renew(worker.id)
    assert sql.execute("SELECT xmin::text FROM tenure.job").fetchall() == before


def test_a_stop_comes_back_with_every_renewal_until_the_attempt_has_ended(store: Store) -> None:
    job = make_job(store)
    worker, other = make_worker(store), make_worker(store)
    claimed = worker.claim_one()
    record = store.stop(
        job,
        intent=Intent.PAUSE,
        reason="maintenance",
        grace=timedelta(seconds=20),
        last_rung=Rung.TERMINATED,
        by="anna",
    )

    for _ in range(2):
        (signal,) = store.renew(worker.id).signals
        assert (signal.job_id, signal.token, signal.tenant) == (job, claimed.token, "default")
        assert signal.orders == {
            "cancellation_id": record.cancellation_id,
            "intent": "pause",
            "reason": "maintenance",
            "by": "anna",
            "force": False,
            "grace": 20,
            "ask_for": None,
            "last_rung": "terminated",
            "rollback": False,
            "preserve": None,
        }
    assert store.renew(other.id).signals == ()
    end_as_stopped(worker, claimed)
    assert store.renew(worker.id).signals == ()


def test_every_stop_is_heard_of_in_the_order_of_asking(store: Store) -> None:
    jobs = [make_job(store) for _ in range(3)]
    worker = make_worker(store)
    worker.claim(3)
    for job in reversed(jobs):
        store.stop(job)
    assert [signal.job_id for signal in store.renew(worker.id).signals] == jobs[::-1]


def test_more_force_is_heard_of(store: Store) -> None:
    job = make_job(store)
    worker = make_worker(store)
    worker.claim_one()
    first = store.stop(job, last_rung=Rung.ASKED)
    again = store.stop(job, force=True)
    assert (again.cancellation_id, again.again) == (first.cancellation_id, True)
    (signal,) = store.renew(worker.id).signals
    assert (signal.orders["force"], signal.orders["last_rung"]) == (True, "killed")


def test_a_draining_worker_hears_of_it_and_of_stops_and_keeps_its_lease(store: Store) -> None:
    job = make_job(store)
    worker = make_worker(store)
    claimed = worker.claim_one()
    store.drain(worker.id, reason="new version")
    store.stop(job)

    renewal = store.renew(worker.id)

    assert renewal.alive
    assert renewal.draining
    assert [signal.job_id for signal in renewal.signals] == [job]
    assert worker.finish(claimed, "stopped", heard=True).accepted == {job: State.CANCELLED}


def test_what_a_draining_worker_still_runs_is_seen_as_draining(store: Store) -> None:
    job = make_job(store)
    worker = make_worker(store)
    worker.claim_one()
    store.drain(worker.id)
    assert store.show(job).status is Status.DRAINING


@pytest.mark.parametrize(("killed", "status"), [(False, "left"), (True, "dead")])
def test_goodbye_is_also_said_for_a_worker_that_was_killed(
    store: Store, killed: bool, status: str
) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    assert store.leave(worker.id, killed=killed) == {"left": True}
    assert [one.status for one in store.workers(all=True)] == [status]
    assert [one.job for one in store.recover().recovered] == [job.id]
    assert worker.finish(job).refused == (job.id,)
    assert store.leave(worker.id, killed=not killed) == {"left": False}


def test_a_worker_that_leaves_hands_over_what_it_still_holds(store: Store) -> None:
    job = make_job(store)
    worker, other = make_worker(store), make_worker(store)
    claimed = worker.claim_one()
    store.leave(worker.id)
    store.recover()
    promote(store)
    assert worker.finish(claimed).refused == (job,)
    assert other.claim_one().id == job


def test_an_identity_is_registered_once(store: Store) -> None:
    worker = make_worker(store)
    store.leave(worker.id)
    with pytest.raises(InputRefused, match="registered already"):
        store.register(worker.id, "host", 1, timedelta(seconds=15))
    with pytest.raises(InputRefused, match="lease"):
        store.register(uuid4(), "host", 1, timedelta(0))
    with pytest.raises(NotFound, match="no live worker"):
        store.drain(worker.id)


def test_a_renewal_waits_for_a_death_in_progress_and_then_accepts_it(
    store: Store, connect: Connect
) -> None:
    worker = make_worker(store)
    grave = connect()
    grave.execute("UPDATE tenure.worker SET expires_at = now() - interval '1s', dead_at = now()")
    late = connect()
    late.execute("SET lock_timeout = '50ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        late.execute("SELECT tenure.renew(%s)", (worker.id,))
    grave.commit()
    assert not store.renew(worker.id).alive


def test_what_there_is_to_hear_is_heard_without_a_renewal(
    store: Store, sql: psycopg.Connection
) -> None:
    job = make_job(store)
    worker, other = make_worker(store), make_worker(store)
    worker.claim_one()
    store.stop(job, by="anna")
    before = sql.execute("SELECT * FROM tenure.worker ORDER BY id").fetchall()
    heard = store.read_signals(worker.id)
    assert (heard.alive, heard.draining, store.read_signals(other.id).signals) == (True, False, ())
    assert sql.execute("SELECT * FROM tenure.worker ORDER BY id").fetchall() == before

    assert heard.signals == store.renew(worker.id).signals != ()
    store.drain(other.id)
    assert store.read_signals(other.id).draining
    store.leave(other.id)
    assert not store.read_signals(other.id).alive
    assert not store.read_signals(uuid4()).alive
