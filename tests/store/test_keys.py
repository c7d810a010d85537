"""Keys: unique while the job lives, idempotency until it is pruned; also for whole jobs."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Literal

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, State
from tenure.errors import KeyTaken
from tenure.store.results import Enqueued
from tenure.store.store import Store
from tests.conftest import Connect
from tests.factories import make_job, make_worker, promote

Taken = Literal["return", "replace", "refuse"]


def enqueue(store: Store, **fields: Any) -> Enqueued:
    (answer,) = store.enqueue(NewJob(task="work", **fields))
    return answer


def count(sql: psycopg.Connection) -> int:
    (number,) = sql.execute("SELECT count(*) FROM tenure.job").fetchone() or (0,)
    return int(number)


def bring_to(store: Store, state: State, job: int) -> None:
    """From pending."""
    if state in (State.PAUSED, State.CANCELLED):
        store.stop(job, intent=Intent.PAUSE if state is State.PAUSED else Intent.CANCEL)
    elif state is not State.PENDING:
        worker = make_worker(store)
        claimed = worker.claim_one()
        if state is State.COMPLETED:
            worker.finish(claimed)
        elif state is State.FAILED:
            worker.finish(claimed, "failed", error={"type": "ValueError", "message": "no"})
    assert store.show(job).state is state


@pytest.mark.parametrize("state", [State.PENDING, State.RUNNING, State.PAUSED], ids=str)
def test_a_unique_key_is_held_while_the_job_is_not_over(store: Store, state: State) -> None:
    first = enqueue(store, unique="site", args={"n": 1})
    bring_to(store, state, first.id)

    again = enqueue(store, unique="site", args={"n": 2})

    assert (again.id, again.created, again.taken) == (first.id, False, "unique")
    assert store.show(first.id).args == {"n": 1}
    with pytest.raises(KeyTaken, match=f"job {first.id} has the unique key 'site' and is {state}"):
        enqueue(store, unique="site", when_taken="refuse")


@pytest.mark.parametrize("state", [State.COMPLETED, State.FAILED, State.CANCELLED], ids=str)
@pytest.mark.parametrize("when_taken", ["return", "refuse", "replace"])
def test_a_unique_key_is_free_when_the_job_is_over(
    store: Store, state: State, when_taken: Taken
) -> None:
    first = enqueue(store, unique="site")
    bring_to(store, state, first.id)
    again = enqueue(store, unique="site", when_taken=when_taken)
    assert again.created
    assert again.id != first.id
    assert store.show(first.id).state is state


def test_a_newer_job_replaces_one_that_has_not_started_and_that_is_on_record(store: Store) -> None:
    first = enqueue(store, unique="site", delay=timedelta(hours=1))
    newer = enqueue(store, unique="site", when_taken="replace")

    assert newer.created
    assert newer.id != first.id
    replaced = store.show(first.id)
    assert replaced.state is State.CANCELLED
    assert replaced.cancellation_id is not None
    assert "replaced" in (replaced.cancellation_reason or "")
    assert [row.verb for row in store.audit_log("job", str(first.id))] == ["cancel"]
    assert [job.id for job in make_worker(store).claim(9)] == [newer.id]


def test_a_job_that_runs_is_not_replaced_and_the_answer_says_so(store: Store) -> None:
    first = enqueue(store, unique="site")
    make_worker(store).claim_one()
    again = enqueue(store, unique="site", when_taken="replace")
    assert (again.id, again.created, again.taken) == (first.id, False, "unique")
    assert not store.show(first.id).cancel_requested


def test_keys_do_not_meddle_with_other_keys(store: Store) -> None:
    answers = [
        enqueue(store, unique="a"),
        enqueue(store, unique="A"),
        enqueue(store, idempotency="a"),
        enqueue(store, key="a"),
        enqueue(store, target="a"),
    ]
    assert all(answer.created for answer in answers)


@pytest.mark.parametrize("state", list(State), ids=str)
def test_an_idempotency_key_names_one_job_whatever_became_of_it(store: Store, state: State) -> None:
    first = enqueue(store, idempotency="order 7")
    bring_to(store, state, first.id)
    again = enqueue(store, idempotency="order 7", when_taken="replace", args={"n": 2})
    assert (again.id, again.created, again.taken) == (first.id, False, "idempotency")
    assert store.show(first.id).state is state


def test_an_idempotency_key_is_free_when_the_job_was_pruned(
    store: Store, sql: psycopg.Connection
) -> None:
    first = enqueue(store, idempotency="order 7")
    bring_to(store, State.COMPLETED, first.id)
    sql.execute("UPDATE tenure.job SET ended_at = ended_at - interval '2 days'")
    assert store.prune({State.COMPLETED: timedelta(days=1)}).jobs == 1
    assert enqueue(store, idempotency="order 7").created


def test_the_second_of_two_in_one_call_is_the_first(store: Store, sql: psycopg.Connection) -> None:
    one, two = store.enqueue([NewJob(task="work", unique="site") for _ in range(2)])
    assert (one.created, two.created, two.id) == (True, False, one.id)
    assert count(sql) == 1


@pytest.mark.parametrize("kind", ["unique", "idempotency"])
def test_a_duplicate_of_an_uncommitted_job_waits_and_then_is_that_job(
    store: Store, connect: Connect, kind: str
) -> None:
    """The insert of the other is seen after its commit; no error, and no second job."""
    other = connect()
    row = other.execute(
        "SELECT tenure.enqueue(%s::jsonb)", (f'{{"task": "work", "{kind}": "k"}}',)
    ).fetchone()
    assert row is not None
    waiter = connect()
    waiter.execute("SET lock_timeout = '50ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        waiter.execute("SELECT tenure.enqueue(%s::jsonb)", (f'{{"task": "w", "{kind}": "k"}}',))
    other.commit()
    again = enqueue(store, **{kind: "k"})
    assert (again.id, again.created) == (row[0][0]["id"], False)


def test_a_key_whose_call_was_rolled_back_is_free(store: Store, connect: Connect) -> None:
    other = connect()
    other.execute("""SELECT tenure.enqueue('{"task": "work", "unique": "k"}')""")
    other.rollback()
    assert enqueue(store, unique="k").created


@pytest.mark.parametrize("kind", ["unique", "idempotency"])
def test_a_job_with_a_key_may_come_after_one_without(store: Store, kind: str) -> None:
    keyed: dict[str, Any] = {kind: "k"}
    first, second = store.enqueue(
        [
            NewJob(key="first", task="work"),
            NewJob(key="second", task="work", after=["first"], **keyed),
        ]
    )
    assert [need["job_id"] for need in store.show(second.id).needs] == [first.id]


def test_a_job_may_come_after_one_whose_key_is_later_in_the_alphabet(store: Store) -> None:
    first, second = store.enqueue(
        [
            NewJob(key="first", task="work", unique="z"),
            NewJob(key="second", task="work", unique="a", after=["first"]),
        ]
    )
    assert [need["job_id"] for need in store.show(second.id).needs] == [first.id]


WHOLE = [
    NewJob(key="job", idempotency="import 7"),
    NewJob(key="load", task="load", parent="job"),
    NewJob(key="check", task="check", parent="job", after=["load"]),
    NewJob(key="sub", parent="job"),
    NewJob(key="leaf", task="leaf", parent="sub"),
]


def whole(store: Store, jobs: Sequence[NewJob] = WHOLE) -> tuple[Enqueued, ...]:
    answers = store.enqueue(jobs)
    promote(store)
    return answers


def test_a_whole_job_said_again_is_the_same_job_with_the_same_tasks(
    store: Store, sql: psycopg.Connection
) -> None:
    first, again = whole(store), whole(store)
    assert [answer.id for answer in again] == [answer.id for answer in first]
    assert all(answer.created for answer in first)
    assert not any(answer.created for answer in again)
    assert again[0].taken == "idempotency"
    assert count(sql) == len(WHOLE)
    assert sql.execute("SELECT count(*) FROM tenure.edge").fetchone() == (1,)


@pytest.mark.parametrize("end", ["completed", "cancelled", "cancelling", "paused"])
def test_a_whole_job_said_again_is_the_same_job_also_when_it_is_over_or_stopped(
    store: Store, sql: psycopg.Connection, end: str
) -> None:
    """Nobody knew whether the first call was committed, and the workers were quick."""
    first = whole(store)
    worker = make_worker(store)
    if end == "cancelling":
        worker.claim_one()
    if end == "completed":
        while jobs := worker.claim(9):
            for job in jobs:
                worker.finish(job)
            promote(store)
    else:
        store.stop(first[0].id, intent=Intent.PAUSE if end == "paused" else Intent.CANCEL)
        promote(store)
    assert store.show(first[0].id).status == end

    again = whole(store)

    assert [answer.id for answer in again] == [answer.id for answer in first]
    assert not any(answer.created for answer in again)
    assert count(sql) == len(WHOLE)


def test_a_whole_job_whose_tasks_have_no_keys_is_not_doubled_either(
    store: Store, sql: psycopg.Connection
) -> None:
    jobs = [WHOLE[0], *(NewJob(task="load", parent="job", args={"n": n}) for n in range(2))]
    first = whole(store, jobs)
    again = whole(store, jobs)
    assert again[0].id == first[0].id
    assert not any(answer.created for answer in again)
    assert count(sql) == 3


def test_a_whole_job_with_a_unique_key_is_made_again_when_the_first_is_over(store: Store) -> None:
    jobs = [NewJob(key="job", unique="site"), NewJob(key="task", task="work", parent="job")]
    first = whole(store, jobs)
    assert [answer.id for answer in whole(store, jobs)] == [answer.id for answer in first]
    store.stop(first[0].id)
    again = whole(store, jobs)
    assert all(answer.created for answer in again)
    assert {answer.id for answer in again}.isdisjoint(answer.id for answer in first)


def test_a_resumed_job_does_not_take_its_unique_key_from_another(store: Store) -> None:
    first = make_job(store, unique="site")
    bring_to(store, State.FAILED, first)
    second = make_job(store, unique="site")
    with pytest.raises(KeyTaken, match=f"job {second} "):
        store.resume(first)
    assert store.show(first).state is State.FAILED
