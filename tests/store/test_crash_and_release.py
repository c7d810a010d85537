"""crash: an attempt is spent and counted. release: nothing is."""

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tenure.domain.lifecycle import Intent, Rung, State, Status
from tenure.store.outcomes import Ending, Report
from tenure.store.results import Claimed
from tenure.store.store import Store
from tenure.testing import Clock
from tests.conftest import Connect
from tests.factories import Worker, make_job, make_worker, promote


def running(store: Store, **fields: Any) -> tuple[Worker, Claimed]:
    make_job(store, **fields)
    promote(store)
    worker = make_worker(store, timedelta(hours=1))
    return worker, worker.claim_one()


def test_a_crash_spends_an_attempt_and_counts_while_the_lease_is_good(store: Store) -> None:
    worker, job = running(store)

    assert worker.crash(job).accepted == {job.id: State.PENDING}

    promote(store)
    shown = store.show(job.id)
    assert (shown.status, shown.attempt, shown.crashes) == (Status.QUEUED, 1, 1)
    assert shown.worker_id is None
    assert "died" in (shown.error_message or "")
    assert [attempt["outcome"] for attempt in shown.attempts] == ["crashed"]
    again = worker.claim_one()
    assert (again.attempt, again.crashes) == (2, 1)


def test_a_job_that_kills_its_process_ends_failed_after_exactly_its_attempts(store: Store) -> None:
    worker, job = running(store, max_attempts=3)
    assert worker.crash(job).accepted == {job.id: State.PENDING}
    assert worker.crash(worker.claim_one()).accepted == {job.id: State.PENDING}
    assert worker.crash(worker.claim_one()).accepted == {job.id: State.FAILED}
    shown = store.show(job.id)
    assert (shown.attempt, shown.crashes, len(shown.attempts)) == (3, 3, 3)
    promote(store)
    assert worker.claim() == ()


def test_a_crash_keeps_the_keepers_word_for_it(store: Store) -> None:
    worker, job = running(store, max_attempts=1)
    error = {"type": "Killed", "message": "killed by signal 9"}
    store.crash(worker.id, [Ending(job=job.id, token=job.token, error=error)])
    assert store.show(job.id).error == error


def test_a_release_spends_nothing_and_keeps_its_turn(store: Store) -> None:
    worker, job = running(store, max_attempts=1)
    later = make_job(store)

    for _ in range(3):
        assert worker.release(job).accepted == {job.id: State.PENDING}
        shown = store.show(job.id)
        assert (shown.status, shown.attempt, shown.crashes) == (Status.QUEUED, 0, 0)
        assert shown.error is None
        job = worker.claim_one()  # before the other, which came later
        assert job.attempt == 1
    assert worker.finish(job).accepted == {job.id: State.COMPLETED}
    assert worker.claim_one().id == later


def test_a_release_keeps_the_attempts_that_were_spent_before(store: Store) -> None:
    worker, job = running(store)
    worker.crash(job)
    worker.release(worker.claim_one())
    again = worker.claim_one()
    assert (again.attempt, again.crashes) == (2, 1)


@pytest.mark.parametrize("verb", ["crash", "release"])
@pytest.mark.parametrize(
    ("intent", "state"), [(Intent.CANCEL, State.CANCELLED), (Intent.PAUSE, State.PAUSED)]
)
def test_a_job_that_was_being_stopped_ends_as_the_stop_wants(
    store: Store, verb: str, intent: Intent, state: State
) -> None:
    worker, job = running(store)
    record = store.stop(job.id, intent=intent)
    assert getattr(worker, verb)(job).accepted == {job.id: state}
    promote(store)
    assert worker.claim() == ()
    assert store.cancellation(record.cancellation_id).status == "completed"


@pytest.mark.parametrize("verb", ["crash", "release"])
@pytest.mark.parametrize("wrong", ["token", "worker", "dead"])
def test_without_the_fence_neither_is_heard(
    store: Store, sql: psycopg.Connection, verb: str, wrong: str
) -> None:
    worker, job = running(store)
    speaker = make_worker(store) if wrong == "worker" else worker
    if wrong == "dead":
        sql.execute("UPDATE tenure.worker SET expires_at = now() - interval '1s', dead_at = now()")
    end = Ending(job=job.id, token=job.token + (wrong == "token"))

    finished = getattr(store, verb)(speaker.id, [end])

    assert finished.refused == (job.id,)
    shown = store.show(job.id)
    assert (shown.state, shown.attempt, shown.crashes) == (State.RUNNING, 1, 0)
    (event,) = store.job_output(job.id, "events")
    assert event["detail"]["outcome"] == {"crash": "crashed", "release": "released"}[verb]


@pytest.mark.parametrize("verb", ["crash", "release"])
def test_a_locked_job_is_busy(store: Store, connect: Connect, verb: str) -> None:
    worker, job = running(store)
    other = connect()
    other.execute("SELECT FROM tenure.job FOR UPDATE")
    assert getattr(worker, verb)(job).busy == (job.id,)
    other.rollback()
    assert getattr(worker, verb)(job).accepted == {job.id: State.PENDING}


@pytest.mark.parametrize("verb", ["crash", "release"])
def test_slots_are_given_back(store: Store, verb: str) -> None:
    store.create_pool("trees", ["t1"])
    worker, job = running(store, pools=["trees"])
    getattr(worker, verb)(job)
    assert store.show(job.id).slots == ()
    assert store.pools("trees")[0].slots[0].job_id is None
    promote(store)
    assert worker.claim_one().slots == {"trees": "t1"}


def test_many_jobs_of_one_runner_crash_at_once_each_by_its_own_count(store: Store) -> None:
    last, first = make_job(store, max_attempts=1), make_job(store, max_attempts=2)
    worker = make_worker(store)
    assert worker.crash(*worker.claim(2)).accepted == {last: State.FAILED, first: State.PENDING}


def test_an_expired_worker_may_still_give_back(store: Store, sql: psycopg.Connection) -> None:
    worker, job = running(store)
    sql.execute("UPDATE tenure.worker SET expires_at = now() - interval '1h'")
    assert worker.release(job).accepted == {job.id: State.PENDING}


def test_a_suspect_spends_no_attempt_but_its_crashes_are_counted(store: Store) -> None:
    worker, job = running(store, max_attempts=1)
    for crashes in (1, 2, 3):
        assert worker.release(job, suspect=True).accepted == {job.id: State.PENDING}
        shown = store.show(job.id)
        assert (shown.status, shown.attempt, shown.crashes) == (Status.QUEUED, 0, crashes)
        job = worker.claim_one()
        assert (job.attempt, job.crashes) == (1, crashes)
    assert worker.finish(job).accepted == {job.id: State.COMPLETED}


def test_only_a_release_makes_a_suspect(store: Store) -> None:
    worker, job = running(store)
    worker.finish(job, "retry", suspect=True)
    assert store.show(job.id).crashes == 0


def test_a_suspect_that_was_being_stopped_ends_as_the_stop_wants(store: Store) -> None:
    worker, job = running(store)
    store.stop(job.id)
    assert worker.release(job, suspect=True).accepted == {job.id: State.CANCELLED}


@pytest.mark.parametrize(("outcome", "state"), [("retry", State.PENDING), ("failed", State.FAILED)])
def test_a_timeout_leaves_its_rung_and_its_error_with_the_attempt(
    store: Store, outcome: Any, state: State
) -> None:
    worker, job = running(store)
    error = {"type": "TimedOut", "message": "it took longer than 5 s"}
    assert worker.finish(job, outcome, rung=Rung.KILLED, error=error).accepted == {job.id: state}
    (attempt,) = store.show(job.id).attempts
    assert (attempt["outcome"], attempt["rung"], attempt["error"]) == (outcome, "killed", error)
    assert store.show(job.id).error == error


@pytest.mark.parametrize("outcome", ["completed", "failed", "retry", "stopped", "released"])
def test_the_cleanup_report_is_kept_after_every_kind_of_end(store: Store, outcome: Any) -> None:
    worker, job = running(store)
    cleanup = {"total_resources": 2, "force_closed": 1, "failed": []}
    worker.finish(job, outcome, cleanup=cleanup)
    assert store.show(job.id).cleanup == cleanup


def test_the_cleanup_report_of_a_crash_is_kept_too(store: Store) -> None:
    worker, job = running(store)
    cleanup = {"total_resources": 1}
    store.crash(worker.id, [Ending(job=job.id, token=job.token, cleanup=cleanup)])
    assert store.show(job.id).cleanup == cleanup


def test_a_job_may_be_released_to_go_on_later_and_spends_nothing(
    store: Store, clock: Clock
) -> None:
    worker, job = running(store)
    later = datetime.now(UTC) + timedelta(minutes=5)

    assert worker.finish(job, "released", run_at=later).accepted == {job.id: State.PENDING}

    shown = store.show(job.id)
    assert (shown.run_at, shown.attempt) == (later, 0)
    promote(store)
    assert worker.claim() == ()
    clock.advance(timedelta(minutes=6))
    store.renew(worker.id)
    promote(store)
    assert worker.claim_one().id == job.id


def test_a_job_that_its_budget_pauses_is_paused_and_by_anybody_else_failed(store: Store) -> None:
    for by, state in {"policy:budget": State.PAUSED, "ann": State.FAILED}.items():
        worker, job = running(store, budget={"tokens": 1})
        store.report(worker.id, [Report(job=job.id, token=job.token, spent={"tokens": 2})])
        store.stop(job.id, intent=Intent.PAUSE, by=by)
        assert worker.finish(job, "stopped").accepted == {job.id: state}


def test_only_a_job_with_which_a_runner_died_is_to_run_alone(store: Store) -> None:
    worker, job = running(store)
    assert not job.alone
    worker.crash(job)
    again = worker.claim_one()
    assert again.alone
    worker.release(again)
    once_more = worker.claim_one()
    assert not once_more.alone
    worker.release(once_more, suspect=True)
    assert worker.claim_one().alone


def test_the_death_of_its_worker_is_not_charged_to_a_job_that_was_not_alone(
    store: Store, clock: Clock
) -> None:
    _, job = running(store)
    clock.advance(timedelta(hours=2))
    store.recover()
    clock.advance(timedelta(hours=2))
    store.recover()
    promote(store)
    again = make_worker(store).claim_one()
    assert (again.id, again.attempt, again.crashes, again.alone) == (job.id, 1, 1, True)


def test_who_is_displaced_twice_runs_alone_next(store: Store) -> None:
    worker, job = running(store, max_attempts=1)
    worker.release(job, displaced=True)
    again = worker.claim_one()
    assert (again.attempt, again.crashes, again.alone) == (1, 0, False)
    worker.release(again, displaced=True)
    once_more = worker.claim_one()
    assert (once_more.attempt, once_more.crashes, once_more.alone) == (1, 0, True)
    assert [one["outcome"] for one in store.show(job.id).attempts] == ["displaced"] * 2


def test_who_was_displaced_completes_without_a_trace_of_an_error(store: Store) -> None:
    worker, job = running(store)
    worker.release(job, displaced=True)
    assert worker.finish(worker.claim_one()).accepted == {job.id: State.COMPLETED}
    assert store.show(job.id).error is None


def test_a_release_that_was_no_displacement_does_not_count_as_one(store: Store) -> None:
    worker, job = running(store)
    worker.release(job)
    worker.release(worker.claim_one(), displaced=True)
    assert not worker.claim_one().alone
