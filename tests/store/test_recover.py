"""recover: the dead are declared dead, and their jobs are taken back."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tenure.domain.job import NEVER, NewJob
from tenure.domain.lifecycle import Intent, State, Status
from tenure.store.outcomes import Report
from tenure.store.results import Claimed
from tenure.store.store import Store
from tenure.testing import Clock
from tests.conftest import Connect
from tests.factories import Worker, make_job, make_jobs, make_worker, promote

SECOND = timedelta(seconds=1)


def start(store: Store, **fields: Any) -> tuple[Worker, Claimed]:
    make_job(store, **fields)
    worker = make_worker(store)
    return worker, worker.claim_one()


def let_lease_end(sql: psycopg.Connection, worker: Worker, ago: str = "1 second") -> None:
    sql.execute(
        "UPDATE tenure.worker SET expires_at = clock_timestamp() - %s::interval WHERE id = %s",
        (ago, worker.id),
    )


def forget(sql: psycopg.Connection, worker: Worker, started: str = "1 hour") -> None:
    """Make it a worker that never beat, with jobs that started so long ago."""
    sql.execute("DELETE FROM tenure.worker WHERE id = %s", (worker.id,))
    sql.execute(
        "UPDATE tenure.job SET started_at = clock_timestamp() - %s::interval WHERE worker_id = %s",
        (started, worker.id),
    )


def refuse_to_move(sql: psycopg.Connection, condition: str) -> None:
    """Rows that nobody can take back."""
    sql.execute("""
        CREATE OR REPLACE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'this row cannot be changed'; END $$
    """)
    sql.execute(
        f"CREATE TRIGGER refuse BEFORE UPDATE ON tenure.job FOR EACH ROW "
        f"WHEN ({condition}) EXECUTE FUNCTION public.refuse()".encode()
    )


def test_a_living_worker_keeps_its_jobs(store: Store) -> None:
    worker, job = start(store)
    recovery = store.recover()
    assert (recovery.dead, recovery.recovered) == ((), ())
    assert worker.finish(job).accepted == {job.id: State.COMPLETED}


def test_expiry_permits_death_and_death_fences(store: Store, sql: psycopg.Connection) -> None:
    worker, job = start(store)
    let_lease_end(sql, worker)
    recovery = store.recover()
    assert [dead.worker_id for dead in recovery.dead] == [worker.id]
    assert [(one.job, one.state) for one in recovery.recovered] == [(job.id, State.PENDING)]
    assert not store.renew(worker.id).alive
    assert worker.finish(job, value="late").refused == (job.id,)
    assert store.report(worker.id, [Report(job=job.id, token=job.token)]).refused == (job.id,)
    assert worker.crash(job).refused == (job.id,)
    assert worker.release(job).refused == (job.id,)
    assert store.claim(worker.id, 1).jobs == ()
    assert store.statistics().refused == 4
    seen = store.show(job.id)
    assert (seen.status, seen.attempt, seen.crashes) == (Status.QUEUED, 0, 1)
    successor = make_worker(store)
    assert successor.finish(successor.claim_one(), value="new").accepted
    assert store.show(job.id).result == "new"


def test_a_late_renewal_counts_until_somebody_declares_the_worker_dead(
    store: Store, sql: psycopg.Connection
) -> None:
    worker, job = start(store)
    make_job(store)
    let_lease_end(sql, worker)
    assert worker.claim() == (), "a worker whose lease is over claims nothing"
    assert store.report(worker.id, [Report(job=job.id, token=job.token)]).accepted == (job.id,)
    assert store.renew(worker.id).alive
    assert store.recover().dead == ()
    assert len(worker.claim()) == 1
    let_lease_end(sql, worker)
    assert worker.finish(job).accepted == {job.id: State.COMPLETED}


def test_the_grace_is_added_to_the_lease(store: Store, sql: psycopg.Connection) -> None:
    worker, job = start(store)
    let_lease_end(sql, worker, "30 seconds")
    assert store.recover(grace=timedelta(seconds=60)).recovered == ()
    assert store.renew(worker.id).alive
    let_lease_end(sql, worker, "61 seconds")
    assert [one.job for one in store.recover(grace=timedelta(seconds=60)).recovered] == [job.id]


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({}, State.PENDING),
        ({"max_attempts": 1}, State.PENDING),
        ({"orphan": "fail"}, State.FAILED),
    ],
)
def test_the_job_is_retried_or_failed_as_it_says(
    store: Store, sql: psycopg.Connection, fields: dict[str, Any], state: State
) -> None:
    worker, job = start(store, **fields)
    let_lease_end(sql, worker)
    assert [one.state for one in store.recover().recovered] == [state]
    seen = store.show(job.id)
    retried = "; it is given back unspent and runs alone next"
    message = "orphan: its worker stopped renewing its lease and was declared dead" + (
        retried if state is State.PENDING else ""
    )
    assert (seen.state, seen.crashes, seen.error_message) == (state, 1, message)
    (attempt,) = seen.attempts
    assert (attempt["outcome"], attempt["rung"]) == ("expired", "expired")


def test_a_poison_job_ends_failed_after_one_unspent_run_and_exactly_its_attempts(
    store: Store, sql: psycopg.Connection
) -> None:
    job = make_job(store, max_attempts=3)
    for _ in range(4):
        worker = make_worker(store)
        worker.claim_one()
        let_lease_end(sql, worker)
        store.recover()
    seen = store.show(job)
    assert (seen.state, seen.attempt, seen.crashes) == (State.FAILED, 3, 4)
    assert make_worker(store).claim(10) == ()


def test_the_message_can_be_chosen(store: Store, sql: psycopg.Connection) -> None:
    worker, job = start(store, orphan="fail")
    let_lease_end(sql, worker)
    message = "orphan: job RUNNING sem heartbeat; worker provavelmente morreu"
    store.recover(message=message)
    assert store.show(job.id).error_message == message


def test_jobs_of_an_unknown_worker_are_taken_back_by_the_time_they_started(
    store: Store, sql: psycopg.Connection
) -> None:
    worker, job = start(store)
    forget(sql, worker, "60 seconds")
    assert store.recover(orphan_after=timedelta(minutes=2)).recovered == ()
    forget(sql, worker, "121 seconds")
    (one,) = store.recover(orphan_after=timedelta(minutes=2)).recovered
    assert (one.job, one.state) == (job.id, State.PENDING)


def test_a_slow_job_of_a_living_worker_is_no_orphan(store: Store, sql: psycopg.Connection) -> None:
    worker, job = start(store)
    sql.execute("UPDATE tenure.job SET started_at = started_at - interval '1 year'")
    assert store.recover(orphan_after=SECOND).recovered == ()
    assert worker.finish(job).accepted == {job.id: State.COMPLETED}


def test_only_the_jobs_that_are_named(store: Store, sql: psycopg.Connection) -> None:
    for _ in range(3):
        make_job(store)
    worker = make_worker(store)
    first, second, third = worker.claim(3)
    let_lease_end(sql, worker)
    assert [one.job for one in store.recover(ids=[second.id]).recovered] == [second.id]
    assert [store.show(job.id).state for job in (first, third)] == [State.RUNNING] * 2
    assert sorted(one.job for one in store.recover().recovered) == [first.id, third.id]


def test_a_dry_run_shows_and_changes_nothing(store: Store, sql: psycopg.Connection) -> None:
    worker, job = start(store)
    waiting = make_job(store)
    sql.execute("UPDATE tenure.job SET run_at = run_at - interval '1 hour'")
    let_lease_end(sql, worker)
    shown = store.recover(dry_run=True, pending_after=SECOND)
    assert [one.job for one in shown.recovered] == [job.id]
    assert (shown.dead, shown.stale) == ((), (waiting,))
    assert store.show(waiting).state is State.PENDING
    assert store.renew(worker.id).alive
    assert worker.finish(job).accepted == {job.id: State.COMPLETED}


def test_nobody_dies_for_one_lease_after_an_outage_of_the_sweeps_own(
    store: Store, clock: Clock
) -> None:
    worker, job = start(store)
    store.recover()
    clock.advance(timedelta(seconds=16))
    blind = store.recover()
    assert (blind.dead, blind.recovered) == ((), ())
    assert blind.blind_until is not None
    clock.advance(timedelta(seconds=8))
    assert store.recover().dead == ()
    clock.advance(timedelta(seconds=8))
    seeing = store.recover()
    assert seeing.blind_until is None
    assert [dead.worker_id for dead in seeing.dead] == [worker.id]
    assert [one.job for one in seeing.recovered] == [job.id]


def test_a_worker_with_a_long_lease_does_not_take_the_blindness_from_the_others(
    store: Store, clock: Clock
) -> None:
    worker, job = start(store)
    make_worker(store, timedelta(hours=1))
    store.recover()
    clock.advance(timedelta(minutes=1))
    assert store.recover().dead == ()
    assert store.renew(worker.id).alive
    assert worker.finish(job).accepted == {job.id: State.COMPLETED}


def test_a_worker_that_says_goodbye_is_recovered_at_once(store: Store) -> None:
    worker, job = start(store)
    store.leave(worker.id)
    assert [one.job for one in store.recover().recovered] == [job.id]


def test_a_stop_of_the_dead_wins_over_another_attempt(
    store: Store, sql: psycopg.Connection
) -> None:
    worker, job = start(store)
    store.stop(job.id, intent=Intent.PAUSE)
    let_lease_end(sql, worker)
    assert [one.state for one in store.recover().recovered] == [State.PAUSED]
    row = sql.execute("SELECT count(*) FROM tenure.signal").fetchone()
    assert row == (0,)


def test_slots_of_the_dead_are_free_again(store: Store, sql: psycopg.Connection) -> None:
    store.create_pool("tree", ["main"])
    worker, _ = start(store, pools=["tree"])
    let_lease_end(sql, worker)
    store.recover()
    assert [slot.job_id for slot in store.pools("tree")[0].slots] == [None]


def test_a_job_claimed_again_in_between_is_not_touched(
    store: Store, sql: psycopg.Connection
) -> None:
    worker, job = start(store)
    let_lease_end(sql, worker)
    row = sql.execute(
        "SELECT jsonb_agg(o)"
        " FROM tenure.orphaned_jobs(0, '0', '2 min', NULL, true, 'orphan', 10) AS o"
    ).fetchone()
    assert row is not None
    store.recover()
    successor = make_worker(store)
    again = successor.claim_one()
    sql.execute("SELECT tenure.conclude(%s::jsonb, NULL, true)", (Jsonb(row[0]),))
    assert store.show(job.id).worker_id == str(successor.id)
    assert successor.finish(again).accepted == {job.id: State.COMPLETED}


def test_ten_thousand_locked_rows_do_not_hold_up_an_orphan(
    store: Store, sql: psycopg.Connection, connect: Connect
) -> None:
    store.enqueue_many(NewJob(task="work"), [{}] * 10_002)
    worker = make_worker(store)
    orphan = max(job.id for job in worker.claim(10_002))
    blocker = connect()
    blocker.execute("SELECT FROM tenure.job WHERE id < %s FOR UPDATE", (orphan,))
    let_lease_end(sql, worker)
    recovery = store.recover()
    assert [one.job for one in recovery.recovered] == [orphan]
    assert len(recovery.busy) == 10_001


def test_ten_thousand_bad_rows_do_not_hold_up_an_orphan(
    store: Store, sql: psycopg.Connection
) -> None:
    store.enqueue_many(NewJob(task="work"), [{}] * 10_002)
    worker = make_worker(store)
    orphan = max(job.id for job in worker.claim(10_002))
    refuse_to_move(sql, f"OLD.id < {orphan}")
    let_lease_end(sql, worker)
    recovery = store.recover()
    assert [one.job for one in recovery.recovered] == [orphan]
    assert len(recovery.failed) == 10_001
    assert store.job_output(min(recovery.failed), "events")[0]["kind"] == "recover_failed"


def test_what_could_not_be_recovered_is_tried_again_by_the_next_sweep(
    store: Store, sql: psycopg.Connection
) -> None:
    worker, job = start(store)
    refuse_to_move(sql, f"OLD.id = {job.id}")
    let_lease_end(sql, worker)
    assert store.recover().failed == (job.id,)
    assert store.show(job.id).state is State.RUNNING
    sql.execute("DROP TRIGGER refuse ON tenure.job")
    assert [one.job for one in store.recover().recovered] == [job.id]


def test_what_nobody_started_in_time_fails_if_that_is_wanted(
    store: Store, sql: psycopg.Connection
) -> None:
    old, young = make_job(store), make_job(store)
    later = make_job(store, delay=timedelta(hours=1))
    unqueued = make_job(store, run_at=NEVER)
    sql.execute(
        "UPDATE tenure.job SET run_at = run_at - interval '10 minutes' WHERE id = %s", (old,)
    )
    assert store.recover().stale == ()
    assert store.recover(pending_after=timedelta(minutes=5)).stale == (old,)
    assert store.show(old).state is State.FAILED
    assert store.show(old).error_message == "orphan: no worker started it within 00:05:00"
    for job in (young, later, unqueued):
        assert store.show(job).state is State.PENDING


def test_a_job_that_nobody_started_has_the_chosen_message_too(
    store: Store, sql: psycopg.Connection
) -> None:
    old = make_job(store)
    sql.execute("UPDATE tenure.job SET run_at = run_at - interval '10 minutes'")
    store.recover(pending_after=timedelta(minutes=5), message="orphan: nobody came")
    message = "orphan: nobody came; no worker started it within 00:05:00"
    assert store.show(old).error_message == message


def test_a_job_that_has_waited_long_for_another_is_not_stale_when_its_turn_comes(
    store: Store, clock: Clock
) -> None:
    ids = make_jobs(
        store, [NewJob(key="a", task="work"), NewJob(key="b", task="work", after=["a"])]
    )
    worker = make_worker(store, timedelta(days=1))
    first = worker.claim_one()
    clock.advance(timedelta(hours=1))
    worker.finish(first)
    promote(store)
    assert store.recover(pending_after=timedelta(minutes=5)).stale == ()
    assert worker.claim_one().id == ids["b"]


def test_a_paused_queue_makes_nobody_stale(store: Store, clock: Clock) -> None:
    job = make_job(store)
    store.pause_dispatch("queue", "default")
    clock.advance(timedelta(hours=1))
    assert store.recover(pending_after=timedelta(minutes=5)).stale == ()
    assert store.show(job).state is State.PENDING


def test_one_bad_pending_row_does_not_stop_the_sweep(store: Store, sql: psycopg.Connection) -> None:
    worker, job = start(store)
    bad, good = make_job(store), make_job(store)
    sql.execute("UPDATE tenure.job SET run_at = run_at - interval '1 hour'")
    refuse_to_move(sql, f"OLD.id = {bad}")
    let_lease_end(sql, worker)
    recovery = store.recover(pending_after=SECOND)
    assert [one.job for one in recovery.recovered] == [job.id]
    assert store.show(good).state is State.FAILED
    assert store.show(bad).state is State.PENDING


def test_a_worker_that_comes_back_is_a_new_one(store: Store, sql: psycopg.Connection) -> None:
    worker, job = start(store)
    let_lease_end(sql, worker)
    store.recover()
    twin = make_worker(store)
    assert twin.id != worker.id
    assert twin.finish(job).refused == (job.id,)
    assert store.show(job.id).state is State.PENDING
