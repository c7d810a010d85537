"""Requests and reports that no context of a job would send; and contexts that are misused."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from tenure.app import Tenure
from tenure.store.store import Store
from tests.apps import forging
from tests.conftest import wipe
from tests.workers import RunningWorker, eventually, running_worker

PATIENCE = "20s"


@pytest.fixture(scope="module")
def worker(shared_database: str, folder: Path) -> Iterator[RunningWorker]:
    wipe(shared_database)
    with running_worker(shared_database, folder, app="tests.apps.forging:app") as worker:
        yield worker


@pytest.fixture(scope="module")
def app(shared_database: str) -> Iterator[Tenure]:
    before, forging.app._url = forging.app._url, shared_database
    yield forging.app
    forging.app.close()
    forging.app._url = before


@pytest.fixture
def limited(worker: RunningWorker, app: Tenure, store: Store) -> Iterator[Store]:
    store.set_limit("api", {"tokens": {"amount": 100, "per": "1h"}}, at_once=5)
    yield store
    store.open_limit("api")
    store.drop_limit("api")


@pytest.mark.parametrize("what", forging.REQUESTS)
def test_a_forged_request_is_refused_and_holds_up_nobody(limited: Store, what: str) -> None:
    neighbour = forging.neighbour.enqueue(20)
    handle = forging.forges.enqueue(what)
    refusal = handle.result(timeout=PATIENCE)
    assert refusal.startswith("InputRefused: ")
    assert neighbour.result(timeout=PATIENCE) == 20
    assert handle.steps() == []
    [limit] = limited.limits("api")
    assert all(name.levels["tokens"] <= 100 for name in limit.names)


REFUSE = """
CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'not this one'; END $$;
CREATE TRIGGER refuse BEFORE INSERT ON tenure.partial FOR EACH ROW WHEN (NEW.value = '"poison"')
EXECUTE FUNCTION public.refuse();
"""


def test_a_report_that_a_trigger_refuses_holds_up_no_other(
    worker: RunningWorker, app: Tenure, sql: psycopg.Connection
) -> None:
    sql.execute(REFUSE)
    try:
        poison = forging.emits.enqueue("poison")
        others = [forging.emits.enqueue("fine") for _ in range(5)]
        assert [other.result(timeout=PATIENCE) for other in others] == ["kept"] * 5
        assert "a report was not recorded" in poison.result(timeout=PATIENCE)
    finally:
        sql.execute("DROP FUNCTION public.refuse() CASCADE")
    assert poison.partials() == []


MISUSES = {
    "throttled before": "for the inside of the block",
    "used before": "for the inside of the block",
    "throttled after": "for the inside of the block",
    "entered twice": "was entered before",
    "throttled for no number": "finite number",
    "throttled for less than nothing": "from 0 on",
    "no call": "for one call or more",
    "a negative amount": "from 0 to",
    "reserve a negative amount": "from 0 to",
    "no name": "1 to 200 characters",
}


@pytest.mark.parametrize("how", MISUSES)
def test_a_call_that_makes_no_sense_is_refused(limited: Store, how: str) -> None:
    refusal = forging.misuses.enqueue(how).result(timeout=PATIENCE)
    assert refusal.startswith("InputRefused: ")
    assert MISUSES[how] in refusal
    eventually(lambda: all(name.in_use == 0 for name in limited.limits("api")[0].names))


def test_a_grant_that_is_left_twice_is_returned_once(limited: Store) -> None:
    assert forging.misuses.enqueue("left twice").result(timeout=PATIENCE) == "fine"
    eventually(lambda: all(name.in_use == 0 for name in limited.limits("api")[0].names))


def test_nobody_closes_a_limit_for_longer_than_a_day(limited: Store) -> None:
    assert forging.misuses.enqueue("throttled for a year").result(timeout=PATIENCE) == "fine"
    [name] = limited.limits("api")[0].names
    assert name.closed is not None
    assert name.closed.until is not None
    assert name.closed.until <= datetime.now(UTC) + timedelta(days=1)
