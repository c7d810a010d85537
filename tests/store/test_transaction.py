"""A job's own transaction: its rows and its completion together, or neither."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tenure.domain.lifecycle import Intent, State
from tenure.domain.tenant import Tenant
from tenure.errors import LeaseLost, StoreUnavailable
from tenure.store import schema
from tenure.store.results import Claimed
from tenure.store.store import Store
from tenure.store.transaction import AsyncTransaction, Fence, Transaction
from tests.conftest import Connect
from tests.factories import Worker, end_as_stopped, make_job, make_worker

Begin = Callable[..., Any]


@pytest.fixture(autouse=True)
def table(sql: psycopg.Connection) -> Iterator[None]:
    sql.execute("CREATE TABLE public.report (line text)")
    yield
    sql.execute("DROP TABLE public.report")


def lines(sql: psycopg.Connection) -> list[str]:
    return [line for (line,) in sql.execute("SELECT line FROM public.report")]


def start(store: Store) -> tuple[Worker, Claimed, Fence]:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    return worker, job, Fence(worker.id, job.id, job.token, store.tenant)


def plainly(
    url: str, fence: Fence, before_the_end: Callable[[], object] = lambda: None, **options: Any
) -> None:
    with Transaction(url, fence, **options) as transaction:
        transaction.connection.execute("INSERT INTO public.report VALUES ('written')")
        transaction.complete({"rows": 1})
        before_the_end()


def asynchronously(
    url: str, fence: Fence, before_the_end: Callable[[], object] = lambda: None, **options: Any
) -> None:
    async def run() -> None:
        async with AsyncTransaction(url, fence, **options) as transaction:
            await transaction.connection.execute("INSERT INTO public.report VALUES ('written')")
            transaction.complete({"rows": 1})
            before_the_end()

    asyncio.run(run())


both = pytest.mark.parametrize("begin", [plainly, asynchronously])


def soon(claim: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not claim():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.005)


@both
def test_rows_and_completion_are_committed_together(
    store: Store, database: str, sql: psycopg.Connection, begin: Begin
) -> None:
    _, job, fence = start(store)

    def look() -> None:
        assert lines(sql) == []
        assert store.show(job.id).state is State.RUNNING

    begin(database, fence, look)
    assert lines(sql) == ["written"]
    shown = store.show(job.id)
    assert (shown.state, shown.result) == (State.COMPLETED, {"rows": 1})


@both
def test_an_error_of_the_job_rolls_its_rows_back_and_does_not_end_the_job(
    store: Store, database: str, sql: psycopg.Connection, begin: Begin
) -> None:
    worker, job, fence = start(store)

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        begin(database, fence, fail)
    assert lines(sql) == []
    assert worker.finish(job).accepted == {job.id: State.COMPLETED}


def test_an_error_of_a_statement_of_the_job_is_raised_unchanged(
    store: Store, database: str
) -> None:
    _, _, fence = start(store)
    with (
        pytest.raises(psycopg.errors.UndefinedTable),
        Transaction(database, fence) as transaction,
    ):
        transaction.connection.execute("SELECT FROM nowhere")


@both
@pytest.mark.parametrize("how", ["dead", "taken", "gone"])
def test_no_row_is_committed_after_the_lease_is_lost(
    store: Store, database: str, sql: psycopg.Connection, begin: Begin, how: str
) -> None:
    worker, job, fence = start(store)

    def lose() -> None:
        if how == "dead":
            sql.execute(
                "UPDATE tenure.worker SET expires_at = now() - interval '1s', dead_at = now()"
            )
        elif how == "taken":
            worker.release(job)
            make_worker(store).claim_one()
        else:
            worker.finish(job, "failed", error={"message": "gave up"})

    with pytest.raises(LeaseLost, match="no longer holds it; its transaction was rolled"):
        begin(database, fence, lose)
    assert lines(sql) == []
    assert store.show(job.id).result is None
    events = [event for event in store.job_output(job.id, "events") if event["kind"] == "refused"]
    assert len(events) == 1, "what was refused is on record"


@both
def test_a_job_that_is_busy_for_a_moment_is_completed_all_the_same(
    store: Store, database: str, sql: psycopg.Connection, connect: Connect, begin: Begin
) -> None:
    _, job, fence = start(store)
    other = connect()
    other.execute("SET idle_in_transaction_session_timeout = '100ms'")
    other.commit()
    begin(database, fence, lambda: other.execute("SELECT FROM tenure.job FOR UPDATE"))
    assert lines(sql) == ["written"]
    assert store.show(job.id).state is State.COMPLETED


@both
def test_a_job_that_stays_busy_is_not_completed_and_has_no_rows(
    store: Store, database: str, sql: psycopg.Connection, connect: Connect, begin: Begin
) -> None:
    _, job, fence = start(store)
    other = connect()
    with pytest.raises(LeaseLost, match="it is locked"):
        begin(database, fence, lambda: other.execute("SELECT FROM tenure.job FOR UPDATE"))
    other.rollback()
    assert lines(sql) == []
    assert store.show(job.id).state is State.RUNNING


@both
def test_a_stop_does_not_wait_for_the_transaction(
    store: Store, database: str, sql: psycopg.Connection, begin: Begin
) -> None:
    """A job whose code did not notice the stop keeps its result, as with any other end."""
    worker, job, fence = start(store)
    begin(database, fence, lambda: store.stop(job.id, intent=Intent.CANCEL))
    assert lines(sql) == ["written"]
    assert store.show(job.id).state is State.COMPLETED
    assert end_as_stopped(worker, job).refused == (job.id,)


def test_it_is_the_tenants_own_job_that_is_completed(
    database: str, sql: psycopg.Connection
) -> None:
    schema.migrate(sql, Tenant("acme"))
    with Store(database, Tenant("acme")) as store:
        _, job, fence = start(store)
        plainly(database, fence)
        assert store.show(job.id).state is State.COMPLETED
        assert lines(sql) == ["written"]


def test_committing_by_hand_is_refused(
    store: Store, database: str, sql: psycopg.Connection
) -> None:
    _, _, fence = start(store)
    with Transaction(database, fence) as transaction:
        transaction.connection.execute("INSERT INTO public.report VALUES ('written')")
        with pytest.raises(psycopg.ProgrammingError):
            transaction.connection.commit()
        assert lines(sql) == []
    assert lines(sql) == ["written"]


def test_the_limits_are_those_of_this_transaction(store: Store, database: str) -> None:
    _, _, fence = start(store)
    with Transaction(database, fence, idle=timedelta(seconds=7)) as transaction:
        row = transaction.connection.execute(
            "SELECT current_setting('idle_in_transaction_session_timeout'),"
            " current_setting('client_connection_check_interval'),"
            " current_setting('application_name'), pg_backend_pid()"
        ).fetchone()
        assert row == ("7s", "2s", fence.session_name, transaction.backend_pid)
        assert str(fence.token) not in fence.session_name


@both
def test_the_server_ends_a_session_that_is_idle_for_too_long(
    store: Store, database: str, sql: psycopg.Connection, begin: Begin
) -> None:
    _, job, fence = start(store)

    def dream() -> None:
        soon(lambda: not sessions(sql, fence))

    with pytest.raises((StoreUnavailable, psycopg.Error)):
        begin(database, fence, dream, idle=timedelta(milliseconds=50))
    assert lines(sql) == []
    assert store.show(job.id).state is State.RUNNING


def sessions(sql: psycopg.Connection, fence: Fence) -> list[int]:
    rows = sql.execute(
        "SELECT pid FROM pg_stat_activity WHERE application_name = %s", (fence.session_name,)
    )
    return [pid for (pid,) in rows]


@both
def test_ending_the_session_rolls_everything_back(
    store: Store, database: str, sql: psycopg.Connection, begin: Begin
) -> None:
    worker, job, fence = start(store)

    def kill() -> None:
        assert store.end_session(worker.id, job.id, job.token + 1) == 0
        assert store.end_session(worker.id, job.id, job.token) == 1
        soon(lambda: not sessions(sql, fence))

    with pytest.raises((StoreUnavailable, psycopg.Error)):
        begin(database, fence, kill)
    assert lines(sql) == []
    assert store.end_session(worker.id, job.id, job.token) == 0
    (event,) = store.job_output(job.id, "events")
    assert (event["kind"], event["detail"]) == ("session_ended", {"sessions": 1})


CLIENT = """
import sys, uuid
from tenure.store.transaction import Fence, Transaction
url, worker, job, token = sys.argv[1:]
with Transaction(url, Fence(uuid.UUID(worker), int(job), int(token))) as transaction:
    transaction.connection.execute("INSERT INTO public.report VALUES ('written')")
    print("open", flush=True)
    if {slow}:
        transaction.connection.execute("SELECT pg_sleep(60)")
    sys.stdin.read()
"""


@pytest.mark.parametrize("slow", [True, False])
def test_a_client_that_was_killed_leaves_no_row_and_no_session(
    store: Store, database: str, sql: psycopg.Connection, slow: bool
) -> None:
    worker, job, fence = start(store)
    arguments = [database, str(worker.id), str(job.id), str(job.token)]
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT.replace("{slow}", str(slow)), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with client:
        assert client.stdout is not None
        assert client.stdout.readline() == b"open\n"
        if slow:
            soon(lambda: sql.execute(SLEEPING, (fence.session_name,)).fetchone())
        os.kill(client.pid, signal.SIGKILL)
        client.wait()
        soon(lambda: not sessions(sql, fence))  # also in the middle of a statement
    assert lines(sql) == []
    assert store.show(job.id).state is State.RUNNING


SLEEPING = """
    SELECT pid FROM pg_stat_activity WHERE application_name = %s AND query LIKE '%%pg_sleep%%'
"""
