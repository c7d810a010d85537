"""Suspects: jobs that were there when a worker died. Who is charged, and who is not."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Literal

import psycopg
import pytest

from tenure.domain.lifecycle import Intent, State
from tenure.store.results import Claimed
from tenure.store.store import Store
from tests.factories import Worker, make_job, make_worker, promote

DAY = timedelta(days=1)
ALONE = "; its worker died while it ran alone"


def die(store: Store, worker: Worker) -> None:
    store.leave(worker.id)
    store.recover()


def suspects(store: Store, n: int = 1, deaths: int = 1, **fields: Any) -> list[int]:
    """Jobs that were there together at these deaths of workers."""
    jobs = [make_job(store, **fields) for _ in range(n)]
    for _ in range(deaths):
        worker = make_worker(store, DAY)
        assert len(worker.claim(n)) == n
        die(store, worker)
    return jobs


def claim(store: Store, n: int = 1) -> tuple[Worker, Sequence[Claimed]]:
    worker = make_worker(store, DAY)
    held = worker.claim(n)
    assert len(held) == n
    return worker, held


def age(sql: psycopg.Connection, job: int, seconds: int) -> None:
    sql.execute(
        "UPDATE tenure.job SET started_at = started_at - make_interval(secs => %s) WHERE id = %s",
        (seconds, job),
    )


def seen(store: Store, job: int) -> tuple[State, int, int]:
    """Its state, the attempts it has spent, and its crashes."""
    shown = store.show(job)
    return shown.state, shown.attempt, shown.crashes


def test_a_job_that_was_not_alone_is_given_back_unspent_and_runs_alone_next(store: Store) -> None:
    [job] = suspects(store, max_attempts=1)
    assert seen(store, job) == (State.PENDING, 0, 1)
    _, [again] = claim(store)
    assert (again.attempt, again.crashes, again.alone) == (1, 1, True)


def test_a_job_that_ran_alone_is_charged_and_runs_alone_again(store: Store) -> None:
    [job] = suspects(store, max_attempts=2)
    worker, _ = claim(store)
    die(store, worker)
    assert seen(store, job) == (State.PENDING, 1, 2)
    assert str(store.show(job).error_message).endswith(ALONE)
    worker, [again] = claim(store)
    assert again.alone
    die(store, worker)
    assert seen(store, job) == (State.FAILED, 2, 3)
    assert str(store.show(job).error_message).endswith(ALONE)
    assert [one["outcome"] for one in store.show(job).attempts] == ["expired"] * 3


def test_its_neighbours_are_not_charged_with_it(store: Store) -> None:
    [poison] = suspects(store)
    neighbours = [make_job(store) for _ in range(2)]
    worker, _ = claim(store, 3)
    die(store, worker)
    assert seen(store, poison) == (State.PENDING, 1, 2)
    assert [seen(store, job) for job in neighbours] == [(State.PENDING, 0, 1)] * 2


def test_a_suspect_that_has_run_for_long_is_not_charged_in_the_place_of_a_new_one(
    store: Store, sql: psycopg.Connection
) -> None:
    old, new = suspects(store, 2, deaths=2)
    worker, _ = claim(store, 2)
    age(sql, old, 31)
    die(store, worker)
    assert seen(store, old) == (State.PENDING, 0, 3)
    assert seen(store, new) == (State.PENDING, 1, 3)


def test_a_suspect_that_was_claimed_just_after_another_is_not_charged(
    store: Store, sql: psycopg.Connection
) -> None:
    """Its worker had no time to put it off."""
    first, second = suspects(store, 2, deaths=2)
    worker, _ = claim(store, 2)
    age(sql, first, 2)
    die(store, worker)
    assert seen(store, first) == (State.PENDING, 1, 3)
    assert seen(store, second) == (State.PENDING, 0, 3)


def test_a_new_suspect_is_not_charged_beside_another_one(
    store: Store, sql: psycopg.Connection
) -> None:
    old, new = suspects(store, 2)
    worker, _ = claim(store, 2)
    age(sql, old, 31)
    die(store, worker)
    assert [seen(store, job) for job in (old, new)] == [(State.PENDING, 0, 2)] * 2


@pytest.mark.parametrize("deaths", [1, 2])
def test_of_suspects_that_were_claimed_at_once_nobody_is_charged(store: Store, deaths: int) -> None:
    jobs = suspects(store, 2, deaths)
    worker, _ = claim(store, 2)
    die(store, worker)
    assert [seen(store, job) for job in jobs] == [(State.PENDING, 0, deaths + 1)] * 2


def test_a_suspect_that_was_there_at_three_deaths_is_charged_whenever_it_strikes(
    store: Store, sql: psycopg.Connection
) -> None:
    job, other = suspects(store, 2, deaths=3, max_attempts=1)
    sql.execute("UPDATE tenure.job SET crashes = 1 WHERE id = %s", (other,))
    worker, _ = claim(store, 2)
    age(sql, job, 3600)
    die(store, worker)
    assert seen(store, job) == (State.FAILED, 1, 4)
    assert seen(store, other) == (State.PENDING, 0, 2)


def test_a_suspect_of_a_silent_worker_is_judged_by_its_last_beat(
    store: Store, sql: psycopg.Connection
) -> None:
    """How long nobody noticed its death makes no difference."""
    old, new = suspects(store, 2, deaths=2)
    worker, _ = claim(store, 2)
    sql.execute("UPDATE tenure.worker SET beat_at = beat_at - interval '1 hour'")
    age(sql, old, 7200)
    age(sql, new, 3600)
    die(store, worker)
    assert seen(store, old) == (State.PENDING, 0, 3)
    assert seen(store, new) == (State.PENDING, 1, 3)


def test_who_fails_orphans_fails_suspects_too(store: Store) -> None:
    [job] = suspects(store, orphan="fail")
    assert seen(store, job) == (State.FAILED, 1, 1)
    assert "alone" not in str(store.show(job).error_message)


@pytest.mark.parametrize(
    ("intent", "state"), [(Intent.PAUSE, State.PAUSED), (Intent.CANCEL, State.CANCELLED)]
)
def test_a_suspect_that_was_being_stopped_is_stopped(
    store: Store, intent: Intent, state: State
) -> None:
    job = make_job(store)
    worker, _ = claim(store)
    store.stop(job, intent=intent)
    die(store, worker)
    assert store.show(job).state is state
    assert "alone" not in str(store.show(job).error_message)


@pytest.mark.parametrize("outcome", ["retry", "released"])
def test_an_attempt_that_ends_in_an_ordinary_way_clears_the_suspicion(
    store: Store, outcome: Literal["retry", "released"]
) -> None:
    suspects(store)
    worker, [job] = claim(store)
    worker.finish(job, outcome)
    promote(store)
    assert not worker.claim_one().alone


def test_a_suspect_that_completes_has_no_error_any_more(store: Store) -> None:
    [job] = suspects(store)
    worker, [again] = claim(store)
    assert again.attempt == 1
    worker.finish(again, value=None)
    shown = store.show(job)
    assert (shown.state, shown.attempt, shown.error) == (State.COMPLETED, 1, None)


def test_a_suspect_that_is_put_off_stays_one_and_nothing_is_on_record(store: Store) -> None:
    [job] = suspects(store)
    before = store.show(job)
    for _ in range(3):
        worker, [held] = claim(store)
        worker.finish(held, "released", unstarted=True)
    after = store.show(job)
    assert (after.attempts, after.error) == (before.attempts, before.error)
    assert seen(store, job) == (State.PENDING, 0, 1)
    _, [again] = claim(store)
    assert again.alone


def test_what_is_put_off_is_no_suspect_for_that(store: Store) -> None:
    make_job(store)
    worker, [held] = claim(store)
    worker.finish(held, "released", unstarted=True)
    assert not worker.claim_one().alone


def test_a_suspect_explains_itself(store: Store) -> None:
    [job] = suspects(store)
    sentence = "it is a suspect and runs alone: the process or the worker that ran it died"
    [reason] = [one for one in store.explain(job).reasons if one.reason == "suspect"]
    assert reason.sentence == f"{sentence} once"
    worker, [held] = claim(store)
    assert [one.reason for one in store.explain(job).reasons] == ["suspect"]
    worker.finish(held)
    assert store.explain(job).reasons == ()
