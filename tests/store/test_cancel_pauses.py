"""A task may say that a plain cancel pauses its jobs."""

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, State, Status
from tenure.errors import InputRefused
from tenure.store.store import Store
from tests.factories import end_as_stopped, make_job, make_jobs, make_worker, promote

PAUSES = {"cancel_pauses": True}


def test_a_plain_cancel_pauses_with_the_message_of_a_pause(store: Store) -> None:
    make_job(store, options=PAUSES)
    worker = make_worker(store)
    job = worker.claim_one()

    record = store.stop(job.id)

    assert (record.intent, record.reason) == (Intent.PAUSE, "Job was interrupted by user")
    assert store.show(job.id).status is Status.PAUSING
    (signal,) = store.renew(worker.id).signals
    assert signal.orders["intent"] == "pause"
    assert end_as_stopped(worker, job).accepted == {job.id: State.PAUSED}
    assert store.resume(job.id).state is State.PENDING


def test_a_pending_one_is_paused_too_and_the_reason_that_was_given_is_kept(store: Store) -> None:
    job = make_job(store, options=PAUSES)
    assert store.stop(job, reason="lunch").reason == "lunch"
    assert store.show(job).state is State.PAUSED


def test_the_trail_says_what_was_asked_and_what_was_done(store: Store) -> None:
    job = make_job(store, options=PAUSES)
    store.stop(job, by="ann")
    (row,) = store.audit_log("job", str(job))
    assert (row.actor, row.verb, row.after["asked"]) == ("ann", "pause", "cancel")


def test_asking_again_answers_with_the_same_record(store: Store) -> None:
    make_job(store, options=PAUSES)
    job = make_worker(store).claim_one()
    first, second = store.stop(job.id), store.stop(job.id)
    assert second.again
    assert first.cancellation_id == second.cancellation_id


@pytest.mark.parametrize("how", [{"force": True}, {"by": "policy:deadline"}])
def test_force_and_policies_cancel(store: Store, how: dict[str, object]) -> None:
    job = make_job(store, options=PAUSES)
    assert store.stop(job, **how).intent is Intent.CANCEL  # type: ignore[arg-type]
    assert store.show(job).state is State.CANCELLED


def test_force_while_it_is_being_paused_cancels(store: Store) -> None:
    make_job(store, options=PAUSES)
    worker = make_worker(store)
    job = worker.claim_one()
    store.stop(job.id)
    assert store.stop(job.id, force=True).intent is Intent.CANCEL
    assert store.stop(job.id).intent is Intent.CANCEL, "a cancel that is under way stays one"
    assert end_as_stopped(worker, job).accepted == {job.id: State.CANCELLED}


def test_what_is_paused_already_is_cancelled(store: Store) -> None:
    job = make_job(store, options=PAUSES)
    store.stop(job)
    assert store.stop(job).intent is Intent.CANCEL
    assert store.show(job).state is State.CANCELLED


@pytest.mark.parametrize("options", [None, {}, {"cancel_pauses": False}])
def test_without_the_option_a_cancel_cancels(store: Store, options: dict[str, object]) -> None:
    job = make_job(store, options=options)
    store.stop(job)
    assert store.show(job).state is State.CANCELLED


@pytest.mark.parametrize(
    ("above", "below", "state"),
    [(PAUSES, None, State.PAUSED), (None, PAUSES, State.CANCELLED)],
)
def test_only_the_job_that_was_asked_for_decides(
    store: Store, above: dict[str, object], below: dict[str, object], state: State
) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(key="parent", task="work", options=above),
            NewJob(key="child", task="work", parent="parent", options=below),
            NewJob(key="after", task="work", after=["parent"]),
        ],
    )
    store.stop(ids["parent"])
    promote(store)
    assert store.show(ids["parent"]).state is store.show(ids["child"]).state is state
    untouched = state is State.PAUSED
    assert (store.show(ids["after"]).state is State.PENDING) is untouched


def test_a_newer_job_of_the_same_key_still_takes_its_place(store: Store) -> None:
    old = make_job(store, unique="x", options=PAUSES)
    (new,) = store.enqueue(NewJob(task="work", unique="x", when_taken="replace"))
    assert new.created
    assert store.show(old).state is State.CANCELLED


def test_it_is_not_rolled_back(store: Store, sql: psycopg.Connection) -> None:
    job = make_job(store, options=PAUSES)
    with pytest.raises(InputRefused, match=r"plain cancel of job \d+ pauses it.*with force"):
        store.stop(job, rollback=True)
    assert store.cancellations() == ()
