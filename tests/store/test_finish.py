"""finish: every outcome, the fence, and what a stop that came first does to it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, Rung, State, Status
from tenure.errors import InputRefused
from tenure.store.outcomes import Ending, Report
from tenure.store.results import Claimed
from tenure.store.store import Store
from tenure.testing import Clock
from tests.conftest import Connect
from tests.factories import Outcome, Worker, ending, make_job, make_worker, promote

NO = {"type": "ValueError", "message": "no"}


def running(store: Store, **fields: Any) -> tuple[Worker, Claimed]:
    make_job(store, **fields)
    promote(store)
    worker = make_worker(store, timedelta(hours=1))
    return worker, worker.claim_one()


def values(store: Store, job: int) -> list[Any]:
    return [kept["value"] for kept in store.job_output(job, "partials")]


def test_a_completed_job_keeps_its_result_and_is_nobodys_any_more(store: Store) -> None:
    worker, job = running(store)

    finished = worker.finish(job, value={"pages": [1, 2]})

    assert finished.accepted == {job.id: State.COMPLETED}
    assert finished.refused == finished.busy == ()
    shown = store.show(job.id)
    assert shown.result == {"pages": [1, 2]}
    assert shown.completed_at is not None
    assert shown.worker_id is None
    assert store.held(worker.id) == ()
    assert values(store, job.id) == []
    assert shown.attempts == ()


def test_a_failed_job_keeps_its_error_and_is_not_tried_again(store: Store) -> None:
    worker, job = running(store, max_attempts=4)

    assert worker.finish(job, "failed", error=NO).accepted == {job.id: State.FAILED}

    promote(store)
    assert store.show(job.id).error == NO
    assert store.show(job.id).error_message == "no"
    assert worker.claim() == ()


def test_a_retry_waits_for_its_time_and_then_spends_a_further_attempt(
    store: Store, clock: Clock
) -> None:
    worker, job = running(store, max_attempts=2)
    later = datetime.now(UTC) + timedelta(minutes=10)

    assert worker.finish(job, "retry", run_at=later, error=NO).accepted == {job.id: State.PENDING}

    promote(store)
    shown = store.show(job.id)
    assert (shown.status, shown.run_at, shown.error) == (Status.RETRYING, later, NO)
    assert worker.claim() == ()
    clock.advance(timedelta(minutes=11))
    promote(store)
    again = worker.claim_one()
    assert (again.id, again.attempt) == (job.id, 2)
    assert worker.finish(again, "retry", error=NO).accepted == {job.id: State.FAILED}


def test_completing_at_the_second_attempt_forgets_the_error_and_keeps_both_attempts(
    store: Store,
) -> None:
    worker, job = running(store)
    worker.finish(job, "retry", error=NO)
    worker.finish(worker.claim_one(), value=1)

    shown = store.show(job.id)
    assert (shown.result, shown.error, shown.retry_count) == (1, None, 1)
    assert [attempt["outcome"] for attempt in shown.attempts] == ["retry", "completed"]


def test_a_job_that_pauses_itself_is_paused(store: Store) -> None:
    worker, job = running(store)
    finished = worker.finish(job, "stopped", intent=Intent.PAUSE)
    assert finished.accepted == {job.id: State.PAUSED}


def test_cancelled_is_not_said_of_a_job_nobody_asked_to_stop(store: Store) -> None:
    worker, job = running(store)
    assert worker.finish(job, "stopped", rung=Rung.ASKED).accepted == {job.id: State.FAILED}
    assert "no stop was requested" in (store.show(job.id).error_message or "")


def test_many_outcomes_are_answered_each_for_itself(store: Store) -> None:
    ids = [make_job(store) for _ in range(4)]
    worker = make_worker(store)
    one, two, three, four = worker.claim(4)
    worker.finish(four)

    finished = store.finish(
        worker.id,
        [ending(one), ending(two, "failed", error=NO), ending(three, "released"), ending(four)],
    )

    assert finished.accepted == {
        ids[0]: State.COMPLETED,
        ids[1]: State.FAILED,
        ids[2]: State.PENDING,
    }
    assert finished.refused == (ids[3],)


@pytest.mark.parametrize("wrong", ["token", "worker", "job"])
def test_an_outcome_without_the_current_fence_is_refused_counted_and_kept(
    store: Store, wrong: str
) -> None:
    worker, job = running(store)
    speaker = make_worker(store) if wrong == "worker" else worker
    end = Ending(
        job=job.id + (wrong == "job"),
        token=job.token + (wrong == "token"),
        outcome="completed",
        value={"late": True},
    )

    finished = store.finish(speaker.id, [end])

    assert (finished.accepted, finished.refused, finished.busy) == ({}, (end.job,), ())
    assert store.show(job.id).state is State.RUNNING
    assert store.show(job.id).result is None
    assert store.statistics().refused == 1
    (event,) = store.job_output(end.job, "events")
    assert event["kind"] == "refused"
    assert event["worker_id"] == str(speaker.id)
    assert event["detail"]["outcome"] == "completed"
    assert event["detail"]["value"] == {"late": True}


def test_the_token_of_an_earlier_claim_does_not_count_for_the_next_one(store: Store) -> None:
    worker, old = running(store)
    worker.release(old)
    new = worker.claim_one()

    assert new.token != old.token
    assert worker.finish(old).refused == (old.id,)
    assert worker.finish(new, value=1).accepted == {new.id: State.COMPLETED}
    assert worker.finish(new, value=2).refused == (new.id,)
    assert store.show(new.id).result == 1


def test_an_earlier_attempt_has_no_say_beside_the_current_one(store: Store) -> None:
    worker, old = running(store)
    worker.crash(old)
    new = worker.claim_one()
    told = [ending(old, "failed", value="old"), ending(new, value="new")]
    assert store.finish(worker.id, told).accepted == {new.id: State.COMPLETED}
    assert store.show(new.id).result == "new"
    assert store.statistics().refused == 1


def test_an_expired_worker_may_finish_and_a_dead_one_may_not(
    store: Store, sql: psycopg.Connection
) -> None:
    worker, first = running(store)
    make_job(store)
    second = worker.claim_one()
    sql.execute("UPDATE tenure.worker SET expires_at = now() - interval '1h'")
    assert worker.finish(first).accepted == {first.id: State.COMPLETED}

    sql.execute("UPDATE tenure.worker SET dead_at = now()")
    assert worker.finish(second).refused == (second.id,)
    assert store.show(second.id).state is State.RUNNING
    assert store.statistics().refused == 1


@pytest.mark.parametrize("table", ["job", "worker"])
def test_what_is_locked_is_busy_and_not_refused(store: Store, connect: Connect, table: str) -> None:
    worker, job = running(store)
    other = connect()
    other.execute(f"SELECT FROM tenure.{table} FOR UPDATE".encode())

    finished = worker.finish(job)

    assert (finished.accepted, finished.refused, finished.busy) == ({}, (), (job.id,))
    assert store.statistics().refused == 0
    other.rollback()
    assert worker.finish(job).accepted == {job.id: State.COMPLETED}


@pytest.mark.parametrize("outcome", ["finished", None])
def test_an_outcome_that_is_none_is_refused_with_a_sentence(store: Store, outcome: Any) -> None:
    worker, job = running(store)
    with pytest.raises(InputRefused, match="outcome"):
        store.finish(worker.id, [Ending(job=job.id, token=job.token, outcome=outcome)])
    assert store.show(job.id).state is State.RUNNING


def test_an_answer_says_whether_there_is_something_to_promote(store: Store) -> None:
    store.enqueue([NewJob(key="job"), NewJob(task="work", parent="job")])
    make_job(store, queue="alone")
    promote(store)
    worker = make_worker(store)
    assert worker.finish(worker.claim_one(queues=["default"])).wakes
    assert not worker.finish(worker.claim_one(queues=["alone"])).wakes


INTENTS = [(Intent.CANCEL, State.CANCELLED), (Intent.PAUSE, State.PAUSED)]


@pytest.mark.parametrize(("intent", "state"), INTENTS)
@pytest.mark.parametrize("outcome", ["completed", "failed", "retry", "stopped", "released"])
def test_a_job_that_heard_of_the_stop_ends_as_the_stop_wants_and_keeps_its_value(
    store: Store, intent: Intent, state: State, outcome: Outcome
) -> None:
    worker, job = running(store)
    store.report(worker.id, [Report(job=job.id, token=job.token, partials=[1])])
    record = store.stop(job.id, intent=intent)

    finished = worker.finish(job, outcome, heard=True, value=2, rung=Rung.ASKED)

    assert finished.accepted == {job.id: state}
    promote(store)
    shown = store.show(job.id)
    assert (shown.state, shown.result) == (state, None)
    assert values(store, job.id) == [1, 2]
    record = store.cancellation(record.cancellation_id)
    assert (record.status, record.success) == ("completed", True)
    assert (record.job_became, record.tasks_cancelled, record.tasks_completed) == (state, (), ())
    assert record.partials_preserved == 2


@pytest.mark.parametrize(("intent", "state"), INTENTS)
def test_a_job_that_never_heard_of_the_stop_is_completed_and_listed_so(
    store: Store, intent: Intent, state: State
) -> None:
    worker, job = running(store)
    record = store.stop(job.id, intent=intent)

    assert worker.finish(job, value=2).accepted == {job.id: State.COMPLETED}

    promote(store)
    shown = store.show(job.id)
    assert (shown.status, shown.result, shown.cancel_requested) == (Status.COMPLETED, 2, False)
    assert values(store, job.id) == []
    record = store.cancellation(record.cancellation_id)
    assert record.status == "completed"
    assert (record.job_became, record.tasks_cancelled) == (State.COMPLETED, ())
    assert record.runners_terminated == ()
    assert not any(record.attempts_ended.values())


@pytest.mark.parametrize(("intent", "state"), INTENTS)
@pytest.mark.parametrize("outcome", ["retry", "released"])
def test_a_stop_wins_over_a_retry_and_a_release_also_when_nobody_heard_of_it(
    store: Store, intent: Intent, state: State, outcome: Outcome
) -> None:
    worker, job = running(store)
    store.stop(job.id, intent=intent)
    assert worker.finish(job, outcome).accepted == {job.id: state}
    promote(store)
    assert worker.claim() == ()


def test_the_signal_of_a_stop_is_gone_when_the_attempt_has_ended(store: Store) -> None:
    worker, job = running(store)
    store.stop(job.id)
    assert [signal.job_id for signal in store.renew(worker.id).signals] == [job.id]
    worker.finish(job, "stopped", heard=True)
    assert store.renew(worker.id).signals == ()


def test_a_stop_that_came_after_the_result_changes_nothing(store: Store) -> None:
    worker, job = running(store)
    worker.finish(job, value=1)
    with pytest.raises(InputRefused, match="cannot cancel a job that is completed"):
        store.stop(job.id)
    assert store.show(job.id).result == 1
