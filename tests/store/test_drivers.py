"""Verbs inside a transaction that the caller already has open, through every library we know."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, suppress
from contextlib import asynccontextmanager as async_context
from contextlib import contextmanager as context
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import asyncpg
import psycopg
import pytest
import sqlalchemy
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker
from sqlalchemy.pool import NullPool

from tenure.domain.cancellation import CancellationRecord
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, State
from tenure.domain.tenant import Tenant
from tenure.errors import (
    InputRefused,
    JobNotFound,
    KeyTaken,
    SchemaMismatch,
    StoreUnavailable,
    TenureError,
)
from tenure.store.call import Call
from tenure.store.calls.control_calls import stop
from tenure.store.calls.enqueue_calls import enqueue
from tenure.store.calls.queries import statistics
from tenure.store.driver_errors import find_tenure_error
from tenure.store.drivers import asend_on, send_on
from tenure.store.results import Enqueued
from tenure.store.store import Store
from tests.factories import make_job


class RolledBack(Exception):
    """Raised inside a transaction to undo it."""


# One transaction of each kind: committed at the end, rolled back by an error.

Opened = AbstractContextManager[Any]
AsyncOpened = AbstractAsyncContextManager[Any]


@context
def psycopg_plain(url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(url) as connection:
        yield connection


@context
def psycopg_with_cursors_of_its_own(url: str) -> Iterator[psycopg.Connection[dict[str, Any]]]:
    with psycopg.connect(url, row_factory=dict_row, cursor_factory=psycopg.RawCursor) as connection:
        yield connection


@context
def sqlalchemy_connection(url: str) -> Iterator[sqlalchemy.Connection]:
    engine = sqlalchemy.create_engine(_for_sqlalchemy(url, "psycopg"), poolclass=NullPool)
    with engine.begin() as connection:
        yield connection


@context
def sqlalchemy_session(url: str) -> Iterator[Session]:
    engine = sqlalchemy.create_engine(_for_sqlalchemy(url, "psycopg"), poolclass=NullPool)
    with Session(engine) as session, session.begin():
        yield session


@context
def sqlalchemy_scoped_session(url: str) -> Iterator[scoped_session[Session]]:
    engine = sqlalchemy.create_engine(_for_sqlalchemy(url, "psycopg"), poolclass=NullPool)
    session = scoped_session(sessionmaker(engine))
    try:
        with session.begin():
            yield session
    finally:
        session.remove()


@context
def django_connection(url: str) -> Iterator[Any]:
    with _django(url) as django, django.transaction.atomic():
        yield django.connection


@context
def django_wrapper(url: str) -> Iterator[Any]:
    with _django(url) as django, django.transaction.atomic():
        yield django.connections["default"]


@async_context
async def psycopg_async(url: str) -> AsyncIterator[psycopg.AsyncConnection]:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        yield connection


@async_context
async def psycopg_async_with_cursors_of_its_own(
    url: str,
) -> AsyncIterator[psycopg.AsyncConnection[dict[str, Any]]]:
    async with await psycopg.AsyncConnection.connect(
        url, row_factory=dict_row, cursor_factory=psycopg.AsyncRawCursor
    ) as connection:
        yield connection


@async_context
async def asyncpg_connection(url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            yield connection
    finally:
        await connection.close()


@async_context
async def asyncpg_connection_that_encodes_json(url: str) -> AsyncIterator[Any]:
    async with asyncpg_connection(url) as connection:
        await connection.set_type_codec(
            "jsonb", schema="pg_catalog", encoder=json.dumps, decoder=json.loads
        )
        yield connection


@async_context
async def asyncpg_connection_of_a_pool(url: str) -> AsyncIterator[Any]:
    async with (
        asyncpg.create_pool(url, min_size=0, max_size=1) as pool,
        pool.acquire() as connection,
        connection.transaction(),
    ):
        yield connection


@async_context
async def sqlalchemy_async_connection(url: str, driver: str) -> AsyncIterator[AsyncConnection]:
    engine = create_async_engine(_for_sqlalchemy(url, driver), poolclass=NullPool)
    async with engine.begin() as connection:
        yield connection


@async_context
async def sqlalchemy_async_session(url: str, driver: str) -> AsyncIterator[AsyncSession]:
    engine = create_async_engine(_for_sqlalchemy(url, driver), poolclass=NullPool)
    async with AsyncSession(engine) as session, session.begin():
        yield session


def _for_sqlalchemy(url: str, driver: str) -> sqlalchemy.URL:
    parts = conninfo_to_dict(url)
    place = {"host": str(parts["host"]), "port": str(parts["port"])}
    return sqlalchemy.URL.create(
        f"postgresql+{driver}", str(parts["user"]), database=str(parts["dbname"]), query=place
    )


@context
def _django(url: str) -> Iterator[Any]:
    """Django's own module of connections, turned towards this database."""
    import django.conf
    import django.db

    parts = conninfo_to_dict(url)
    if not django.conf.settings.configured:
        django.conf.settings.configure(DATABASES={}, USE_TZ=True)
        django.setup()
    vars(django.db.connections).pop("settings", None)  # as Django's own tests turn it elsewhere
    django.db.connections._settings = {
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": parts["dbname"],
            "USER": parts["user"],
            "HOST": parts["host"],
            "PORT": parts["port"],
        }
    }
    try:
        yield django.db
    finally:
        django.db.connections.close_all()
        del django.db.connections["default"]


@dataclass(frozen=True)
class Way:
    """Send calls in one transaction; roll it back at the end if that is wanted."""

    send: Callable[[str, list[Call[Any]], bool], list[Any]]

    def commit(self, url: str, *calls: Call[Any]) -> list[Any]:
        return self.send(url, list(calls), False)

    def roll_back(self, url: str, *calls: Call[Any]) -> list[Any]:
        return self.send(url, list(calls), True)


def plain(begin: Callable[[str], Opened]) -> Way:
    def send(url: str, calls: list[Call[Any]], undo: bool) -> list[Any]:
        answers: list[Any] = []
        with suppress(RolledBack), begin(url) as connection:
            answers += [send_on(connection, call) for call in calls]
            if undo:
                raise RolledBack
        return answers

    return Way(send)


def awaited(begin: Callable[..., AsyncOpened], *more: str) -> Way:
    async def asend(url: str, calls: list[Call[Any]], undo: bool) -> list[Any]:
        answers: list[Any] = []
        with suppress(RolledBack):
            async with begin(url, *more) as connection:
                answers += [await asend_on(connection, call) for call in calls]
                if undo:
                    raise RolledBack
        return answers

    return Way(lambda url, calls, undo: asyncio.run(asend(url, calls, undo)))


WAYS = [
    pytest.param(plain(psycopg_plain), id="psycopg"),
    pytest.param(plain(psycopg_with_cursors_of_its_own), id="psycopg-own-cursors"),
    pytest.param(plain(sqlalchemy_connection), id="sqlalchemy-connection"),
    pytest.param(plain(sqlalchemy_session), id="sqlalchemy-session"),
    pytest.param(plain(sqlalchemy_scoped_session), id="sqlalchemy-scoped-session"),
    pytest.param(plain(django_connection), id="django"),
    pytest.param(plain(django_wrapper), id="django-wrapper"),
    pytest.param(awaited(psycopg_async), id="psycopg-async"),
    pytest.param(awaited(psycopg_async_with_cursors_of_its_own), id="psycopg-async-own-cursors"),
    pytest.param(awaited(asyncpg_connection), id="asyncpg"),
    pytest.param(awaited(asyncpg_connection_that_encodes_json), id="asyncpg-json-codec"),
    pytest.param(awaited(asyncpg_connection_of_a_pool), id="asyncpg-pool"),
    *(
        pytest.param(awaited(begin, driver), id=f"{name}-{driver}")
        for name, begin in (
            ("sqlalchemy-async-connection", sqlalchemy_async_connection),
            ("sqlalchemy-async-session", sqlalchemy_async_session),
        )
        for driver in ("asyncpg", "psycopg")
    ),
]
through_every_library = pytest.mark.parametrize("way", WAYS)

AWKWARD = {"text": "50 % of :this, 'that' and $1 \\ \"ü\"", "list": [1, None, {"a": 1.5}]}


def jobs_in(store: Store) -> int:
    return store.statistics().total


@through_every_library
def test_a_job_is_there_after_the_callers_commit(way: Way, database: str, store: Store) -> None:
    [answer] = way.commit(database, enqueue(NewJob(task="work", args=AWKWARD), by="alice"))
    [enqueued] = answer
    assert enqueued == Enqueued(id=enqueued.id, created=True)
    job = store.show(enqueued.id)
    assert (job.args, job.owner, job.status) == (AWKWARD, "alice", "queued")


@through_every_library
def test_a_job_is_gone_after_the_callers_rollback(way: Way, database: str, store: Store) -> None:
    [[enqueued]] = way.roll_back(database, enqueue(NewJob(task="work")))
    assert enqueued.created
    assert jobs_in(store) == 0


@through_every_library
def test_a_stop_counts_after_the_callers_commit(way: Way, database: str, store: Store) -> None:
    job = make_job(store)
    [record] = way.commit(database, stop(job, reason="no longer wanted"))
    assert isinstance(record, CancellationRecord)
    assert (record.job_id, record.status) == (job, "completed")
    assert store.show(job).state is State.CANCELLED


@through_every_library
def test_a_stop_never_was_after_the_callers_rollback(way: Way, database: str, store: Store) -> None:
    job = make_job(store)
    way.roll_back(database, stop(job, intent=Intent.PAUSE))
    assert store.show(job).state is State.PENDING
    assert store.cancellations() == ()


@through_every_library
def test_a_refusal_is_our_own_error_with_the_sentence_alone(
    way: Way, database: str, store: Store
) -> None:
    first = make_job(store, unique="one")
    again = NewJob(task="work", unique="one", when_taken="refuse")
    with pytest.raises(KeyTaken) as refused:
        way.commit(database, enqueue(again))
    assert str(refused.value) == f"job {first} has the unique key 'one' and is pending"
    with pytest.raises(JobNotFound, match=r"^there is no job 999$"):
        way.commit(database, stop(999))
    assert jobs_in(store) == 1


@through_every_library
def test_a_refused_job_takes_the_callers_transaction_with_it(
    way: Way, database: str, store: Store
) -> None:
    refused = NewJob(task="work", pools=["trees"])  # by the database, not before it
    with pytest.raises(InputRefused, match="there is no pool 'trees'"):
        way.commit(database, enqueue(NewJob(task="work")), enqueue(refused))
    assert jobs_in(store) == 0


@through_every_library
def test_a_tenant_without_a_schema_is_told_to_migrate(
    way: Way, database: str, store: Store
) -> None:
    with pytest.raises(SchemaMismatch, match=r"tenure_acme.*run: tenure migrate$"):
        way.commit(database, enqueue(NewJob(task="work")).of(Tenant("acme")))


@through_every_library
def test_a_verb_without_arguments_can_be_sent(way: Way, database: str, store: Store) -> None:
    [before, _, after] = way.commit(
        database, statistics(), enqueue(NewJob(task="work")), statistics()
    )
    assert (before.total, after.total) == (0, 1)


@through_every_library
def test_a_duplicate_finds_the_job_that_has_the_key(way: Way, database: str, store: Store) -> None:
    job = make_job(store, idempotency="order-1")
    [[again]] = way.commit(database, enqueue(NewJob(task="work", idempotency="order-1")))
    assert again == Enqueued(id=job, created=False, taken="idempotency")


@pytest.mark.fresh_database
def test_the_callers_rows_and_the_job_are_committed_together(database: str, store: Store) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("CREATE TABLE orders AS SELECT 1 AS id")
        send_on(connection, enqueue(NewJob(task="ship", args={"order": 1})))
        assert jobs_in(store) == 0
    assert jobs_in(store) == 1
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT id FROM orders").fetchall() == [(1,)]


def test_a_savepoint_saves_the_transaction_from_a_refusal(database: str, store: Store) -> None:
    with psycopg.connect(database) as connection:
        send_on(connection, enqueue(NewJob(task="work")))
        with pytest.raises(JobNotFound), connection.transaction():
            send_on(connection, stop(999))
        send_on(connection, enqueue(NewJob(task="work")))
    assert jobs_in(store) == 2


def test_in_djangos_autocommit_a_job_is_there_at_once(database: str, store: Store) -> None:
    with _django(database) as django:
        send_on(django.connection, enqueue(NewJob(task="work")))
        assert jobs_in(store) == 1


def test_a_connection_that_was_cut_is_an_outage(database: str, sql: psycopg.Connection) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        sql.execute("SELECT pg_terminate_backend(%s, 5000)", (connection.info.backend_pid,))
        with pytest.raises(StoreUnavailable, match=r"^the database .*: .*connection"):
            send_on(connection, statistics())


# What is no connection


def refusal(attempt: Callable[[], object]) -> str:
    with pytest.raises(InputRefused) as refused:
        attempt()
    return str(refused.value)


@pytest.mark.parametrize("thing", [None, "postgresql://", object(), 42])
def test_what_is_no_connection_is_refused_by_its_name(thing: Any) -> None:
    kind = f"builtins.{type(thing).__name__}"
    sentence = f"a {kind} is not a connection of psycopg, asyncpg, SQLAlchemy or Django"
    assert refusal(lambda: send_on(thing, statistics())) == sentence
    assert refusal(lambda: asyncio.run(asend_on(thing, statistics()))) == sentence


def test_a_relative_of_a_connection_is_refused_too(database: str) -> None:
    engine = sqlalchemy.create_engine(_for_sqlalchemy(database, "psycopg"), poolclass=NullPool)
    assert "a sqlalchemy.engine.base.Engine is not a connection" in refusal(
        lambda: send_on(engine, statistics())
    )
    with psycopg.connect(database) as connection, connection.cursor() as cursor:
        assert "a psycopg.Cursor is not a connection" in refusal(
            lambda: send_on(cursor, statistics())
        )


def test_a_pool_is_refused_because_it_has_no_transaction_of_the_callers(database: str) -> None:
    async def send_on_a_pool() -> None:
        async with asyncpg.create_pool(database, min_size=0, max_size=1) as pool:
            await asend_on(pool, enqueue(NewJob(task="work")))

    assert "a asyncpg.pool.Pool is not a connection" in refusal(
        lambda: asyncio.run(send_on_a_pool())
    )


def test_the_wrong_function_for_a_connection_names_the_right_one(database: str) -> None:
    async def send_plainly() -> None:
        async with await psycopg.AsyncConnection.connect(database) as connection:
            send_on(connection, statistics())

    with psycopg.connect(database) as connection:
        assert refusal(lambda: asyncio.run(asend_on(connection, statistics()))) == (
            "a psycopg.Connection is not for asend_on; use send_on"
        )
    assert refusal(lambda: asyncio.run(send_plainly())) == (
        "a psycopg.AsyncConnection is not for send_on; use asend_on"
    )


def test_a_subclass_of_a_connection_is_a_connection(database: str, store: Store) -> None:
    class Connection(psycopg.Connection[Any]):
        """An application's own."""

    with Connection.connect(database) as connection:
        send_on(connection, enqueue(NewJob(task="work")))
    assert jobs_in(store) == 1


# Errors of other libraries


class Psycopg2Error(Exception):
    """How psycopg2 tells what went wrong."""

    class diag:  # noqa: N801
        message_primary = "there is no job 7"

    pgcode = "TN002"


def test_an_error_is_known_by_its_state_whatever_wraps_it() -> None:
    wrapper = RuntimeError("somebody's")
    wrapper.__cause__ = Psycopg2Error("there is no job 7\nCONTEXT: ...")
    fault = find_tenure_error(wrapper)
    assert isinstance(fault, JobNotFound)
    assert str(fault) == "there is no job 7"


def test_an_error_that_is_not_the_databases_stays_as_it_is(database: str) -> None:
    broken: Call[TenureError] = Call("statistics", {}, {}, read=_cannot_read)
    with psycopg.connect(database) as connection, pytest.raises(ZeroDivisionError) as raised:
        send_on(connection, broken)
    assert raised.value.__cause__ is None


def test_errors_that_cause_one_another_are_looked_at_once() -> None:
    first, second = ValueError(str(uuid4())), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert find_tenure_error(first) is None


def _cannot_read(text: bytes | str) -> TenureError:
    raise ZeroDivisionError(text)
