"""Grants, reservations and retry functions in real workers, in every executor."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from tenure.app import Tenure
from tenure.control.task import Task
from tenure.domain.lifecycle import State
from tenure.runtime.keeper.runs.grant_requests import GrantRequests
from tenure.runtime.messages import AttemptReport
from tenure.store.limit_results import GrantAnswer
from tenure.store.store import Store
from tests.apps import granted
from tests.conftest import wipe
from tests.workers import RunningWorker, Watcher, eventually, running_worker


@pytest.fixture(scope="module")
def worker(shared_database: str, folder: Path) -> Iterator[RunningWorker]:
    wipe(shared_database)
    with running_worker(shared_database, folder, app="tests.apps.granted:app") as worker:
        yield worker


@pytest.fixture(scope="module")
def app(shared_database: str) -> Iterator[Tenure]:
    before, granted.app._url = granted.app._url, shared_database
    yield granted.app
    granted.app._url = before


@pytest.fixture(params=list(granted.HOLDING))
def task(request: pytest.FixtureRequest, worker: RunningWorker, app: Tenure) -> Task[..., Any]:
    return granted.HOLDING[request.param]


@pytest.fixture(params=list(granted.DECIDING))
def deciding(request: pytest.FixtureRequest, worker: RunningWorker, app: Tenure) -> Any:
    return granted.DECIDING[request.param]


@pytest.fixture(autouse=True)
def _no_limits(store: Store) -> Iterator[None]:
    yield
    for limit in store.limits():
        for name in [limit.name, *(name.name for name in limit.names)]:
            store.open_limit(name)
        store.drop_limit(limit.name)


def test_a_grant_is_waited_for_and_corrected(
    task: Task[..., Any], store: Store, tmp_path: Path
) -> None:
    rates = {"tokens": {"amount": 20, "per": "1s", "burst": 12}}
    store.set_limit("api", rates, at_once=1)
    handles = [task.enqueue("limit", str(tmp_path)) for _ in range(4)]
    assert [handle.result(timeout="60s") for handle in handles] == ["done"] * 4
    lines = [line.split() for line in (tmp_path / "notes").read_text().splitlines()]
    assert [word for word, _ in lines] == ["in", "out"] * 4  # never two at once
    taken = float(lines[-1][1]) - float(lines[0][1])
    assert taken >= (3 * 4 + 10 - 12) / 20 - 0.1  # each used 4 of the 10 that it took
    eventually(lambda: store.limits("api")[0].names[0].in_use == 0)


def test_one_throttled_job_closes_the_limit(task: Task[..., Any], store: Store) -> None:
    store.set_limit("api", at_once=5)
    assert task.enqueue("throttled").result(timeout="30s") == "done"
    [name] = store.limits("api")[0].names
    assert name.closed is not None
    assert name.closed.until is not None
    assert name.closed.until > datetime.now(UTC) + timedelta(seconds=15)


def test_a_stop_returns_the_grant_of_its_job(
    task: Task[..., Any], store: Store, watch: Watcher, folder: Path
) -> None:
    store.set_limit("api", {"tokens": {"amount": 50, "per": "1s"}}, at_once=1)
    handle = task.enqueue("keep")
    eventually(lambda: any(n.in_use == 1 for n in store.limits("api")[0].names))
    waiting = task.enqueue("limit", str(folder))
    handle.cancel(force=True)
    watch.becomes(handle.id, State.CANCELLED)
    assert waiting.result(timeout="30s") == "done"


def test_a_reservation_spends_what_was_used(task: Task[..., Any], store: Store) -> None:
    handle = task.enqueue("reserve")
    assert handle.result(timeout="30s") == "done"
    assert store.show(handle.id).spent == {"tokens": 25 + 30}


@pytest.mark.parametrize("how", ["gives up a limit", "gives up a reservation"])
def test_what_a_job_no_longer_waits_for_is_not_held_for_it(
    worker: RunningWorker, app: Tenure, store: Store, how: str
) -> None:
    store.set_limit("api", at_once=1)
    handle = granted.HOLDING["async"].using(budget={"tokens": 70}).enqueue(how)
    assert handle.result(timeout="30s") == "done"


def test_a_grant_that_crosses_its_withdrawal_is_given_back() -> None:
    """Both are in one call: the database settles first, and then grants."""
    withdrawal: dict[str, Any] = {"number": 1, "used": {}, "withdrawn": True}
    run = SimpleNamespace(tenant="t", number=7, has_ended=False, withdrawn={})
    added: list[AttemptReport] = []

    async def ask(*_: object) -> GrantAnswer:
        run.withdrawn[1] = withdrawal
        return GrantAnswer(granted=True)

    reports: Any = {"t": SimpleNamespace(ask=ask, add=lambda _, report: added.append(report))}
    asking: Any = run
    asyncio.run(GrantRequests(reports).reserve(asking, {"number": 1, "reserve": {"tokens": 1}}))
    assert added == [AttemptReport(7, settled=(withdrawal,))]


def test_a_job_that_cannot_reserve_fails_or_pauses_and_is_resumed_with_more(
    task: Task[..., Any], store: Store, watch: Watcher
) -> None:
    failed = task.enqueue("too much")
    watch.becomes(failed.id, State.FAILED)
    error: Any = store.show(failed.id).error
    assert error["type"].endswith("BudgetExceeded")
    paused = task.using(on_budget="pause").enqueue("too much")
    watch.becomes(paused.id, State.PAUSED)
    paused.resume(budget={"tokens": 200})
    assert paused.result(timeout="30s") == "done"


@pytest.mark.parametrize(
    ("how", "attempts", "message"),
    [("soon", 3, "soon"), ("stop", 1, "stop"), ("discard", 1, "not worth it")],
)
def test_a_function_decides_about_another_attempt(
    deciding: Any, watch: Watcher, store: Store, how: str, attempts: int, message: str
) -> None:
    handle = deciding.enqueue(how)
    watch.becomes(handle.id, State.FAILED)
    job = store.show(handle.id)
    assert (job.attempt, job.error_message) == (attempts, message)


@pytest.mark.parametrize("how", ["broken", "key", "late", *granted.ODD])
def test_without_a_decision_the_backoff_applies(
    deciding: Any, watch: Watcher, store: Store, how: str
) -> None:
    handle = deciding.enqueue(how)
    eventually(lambda: store.show(handle.id).waiting == "time")
    run_at = store.show(handle.id).run_at
    assert run_at is not None
    assert run_at > datetime.now(UTC) + timedelta(minutes=50)
    lines = [line["line"] for line in store.job_output(handle.id, "logs")]
    told = [line for line in lines if "retry function did not decide" in line]
    assert bool(told) == (how != "key")
    handle.cancel()


def test_an_error_can_delay_the_next_attempt(
    worker: RunningWorker, app: Tenure, store: Store
) -> None:
    handle = granted.asks_for_time.enqueue("after")
    eventually(lambda: store.show(handle.id).waiting == "time")
    run_at = store.show(handle.id).run_at
    assert run_at is not None
    assert timedelta(seconds=20) < run_at - datetime.now(UTC) < timedelta(seconds=41)
    handle.cancel()


def test_a_subclass_of_an_error_that_is_never_retried_ends_the_job(
    worker: RunningWorker, app: Tenure, watch: Watcher, store: Store
) -> None:
    handle = granted.asks_for_time.enqueue("never")
    watch.becomes(handle.id, State.FAILED)
    assert store.show(handle.id).attempt == 1


# What a claim wrote. In the job the time is corrected to when its code began, which may be later.
NOTE_STARTS = """
CREATE SCHEMA tenure_test;
CREATE TABLE tenure_test.start (job_id bigint PRIMARY KEY, at timestamptz);
CREATE FUNCTION tenure_test.note_start() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO tenure_test.start VALUES (new.id, new.started_at);
    RETURN NULL;
END $$;
CREATE TRIGGER note_start AFTER UPDATE ON tenure.job FOR EACH ROW
WHEN (new.state = 'running' AND old.state = 'pending') EXECUTE FUNCTION tenure_test.note_start();
"""


def test_limits_of_a_task_hold_in_a_real_worker(
    worker: RunningWorker, app: Tenure, store: Store, sql: psycopg.Connection
) -> None:
    sql.execute(NOTE_STARTS)
    store.set_limit("models:{model}", {"calls": {"amount": 20, "per": "1s", "burst": 2}})
    begun = datetime.now(UTC)
    handles = [granted.limited.enqueue(model) for model in "ab" for _ in range(12)]
    assert [h.result(timeout="60s") for h in handles] == ["a"] * 12 + ["b"] * 12
    noted = sql.execute("SELECT job_id, at FROM tenure_test.start").fetchall()
    starts: dict[int, datetime] = dict(noted)
    for some in handles[:12], handles[12:]:
        times = sorted(starts[handle.id] for handle in some)
        for at, first in enumerate(times):
            for n, last in enumerate(times[at:], 1):
                assert n <= 2 + (last - first).total_seconds() * 20 + 0.001
    for handle in handles:
        started = store.show(handle.id).started_at
        assert started is not None
        assert started >= starts[handle.id]
    assert datetime.now(UTC) - begun >= timedelta(seconds=0.45)
