"""Limits when the clock of the database is set back, or was ahead."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tenure.store.outcomes import Report
from tenure.store.store import Store
from tenure.testing import Clock
from tests.factories import make_job, make_worker, promote, set_back

PER_MINUTE = {"calls": {"amount": 3, "per": "1m"}}
HOUR = timedelta(hours=1)


def make_jobs(store: Store, n: int) -> list[int]:
    return [make_job(store, limits=["api"]) for _ in range(n)]


def test_a_clock_that_is_set_back_refills_nothing(
    store: Store, sql: psycopg.Connection, clock: Clock
) -> None:
    """Nor when it catches up, as after a failover to a host that is behind, and back."""
    store.set_limit("api", PER_MINUTE)
    make_jobs(store, 9)
    worker = make_worker(store, timedelta(days=1))
    assert len(worker.claim(3)) == 3
    for _ in range(3):
        set_back(sql, timedelta(seconds=45))
        make_jobs(store, 1)
        store.close_limit("api")  # both store the state of the limit again
        store.open_limit("api")
        promote(store)
        assert worker.claim(9) == ()
        clock.advance(timedelta(seconds=45))
        promote(store)
        assert worker.claim(9) == ()
    clock.advance(timedelta(seconds=21))
    promote(store)
    assert len(worker.claim(9)) == 1


def test_a_clock_that_was_a_year_ahead_costs_one_refill(
    store: Store, sql: psycopg.Connection, clock: Clock
) -> None:
    store.set_limit("api", PER_MINUTE)
    make_jobs(store, 9)
    clock.advance(timedelta(days=365))
    worker = make_worker(store, timedelta(days=1))
    assert len(worker.claim(9)) == 3
    set_back(sql, timedelta(days=365))
    store.prune({})  # wakes the line
    promote(store)
    assert worker.claim(9) == ()
    clock.advance(timedelta(seconds=61))
    promote(store)
    assert worker.claim(9) == ()
    clock.advance(timedelta(seconds=20))
    promote(store)
    assert len(worker.claim(9)) == 1


def test_running_jobs_get_grants_again_after_the_clock_was_a_year_ahead(
    store: Store, sql: psycopg.Connection, clock: Clock
) -> None:
    store.set_limit("api", PER_MINUTE)
    make_job(store)
    clock.advance(timedelta(days=365))
    worker = make_worker(store, timedelta(days=1))
    job = worker.claim_one()

    def is_granted(number: int) -> bool:
        asks: list[Any] = [{"number": number, "limit": "api"}]
        answer = store.report(worker.id, [Report(job=job.id, token=job.token, asks=asks)])
        return answer.answered[str(job.id)][str(number)].granted

    assert [is_granted(number) for number in range(1, 5)] == [True, True, True, False]
    set_back(sql, timedelta(days=365))
    assert not is_granted(4)
    clock.advance(timedelta(seconds=81))
    assert is_granted(4)


@pytest.mark.parametrize(
    "rate",
    [
        {"amount": 0.000001, "per": "36500d", "burst": 1},
        {"amount": 0.000001, "per": "36500d", "burst": 10**15},
        {"amount": 10**15, "per": "1ms"},
    ],
)
def test_no_rate_is_too_slow_or_too_fast_for_a_claim(
    store: Store, sql: psycopg.Connection, clock: Clock, rate: dict[str, object]
) -> None:
    store.set_limit("api", {"calls": rate})
    make_jobs(store, 3)
    other = make_job(store, "other")
    worker = make_worker(store, HOUR)
    started = {job.id for _ in range(3) for job in worker.claim(9)}
    assert other in started
    set_back(sql, timedelta(minutes=5))
    store.prune({})
    promote(store)
    worker.claim(9)
    assert store.limits("api")[0].name == "api"
