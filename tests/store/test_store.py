"""The stores: the same verbs twice, and what they do when the database goes away."""

import asyncio
import inspect
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any, TypeVar

import psycopg
import pytest
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from tenure.config import Settings
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused, NotAllowed, SchemaMismatch, StoreUnavailable
from tenure.store import schema, transport
from tenure.store.calls import control_calls, policy_calls, queries
from tenure.store.driver_errors import as_tenure_error, is_contention, is_outage
from tenure.store.store import AsyncStore, Method, Store, Verbs
from tests.conftest import Connect
from tests.factories import make_job, make_job_in, make_worker
from tests.workers import eventually

T = TypeVar("T")

IMPATIENT = Settings(connect_timeout=timedelta(seconds=1))


def in_async(url: str, ask: Callable[[AsyncStore], Awaitable[T]], **options: Any) -> T:
    async def run() -> T:
        async with AsyncStore(url, **options) as store:
            return await ask(store)

    return asyncio.run(run())


# The same verbs


VERBS = {name: verb for name, verb in vars(Verbs).items() if isinstance(verb, Method)}


def test_both_stores_have_all_verbs(store: Store) -> None:
    async_store = AsyncStore("postgresql:///nowhere")
    for name, verb in VERBS.items():
        assert verb.__name__ == name
        assert not inspect.iscoroutinefunction(getattr(store, name)), name
        assert inspect.iscoroutinefunction(getattr(async_store, name)), name


def test_an_argument_that_a_verb_does_not_have_is_refused() -> None:
    stop: Any = control_calls.stop
    with pytest.raises(InputRefused, match="graec: there is no such option; the nearest is grace"):
        stop(7, graec=1)
    with pytest.raises(TypeError, match="multiple values for argument 'job'"):
        stop(7, job=8)
    bulk_stop: Any = policy_calls.bulk_stop
    with pytest.raises(InputRefused, match="rollback_tasks: there is no such option"):
        bulk_stop({}, rollback_tasks=[1])


def test_every_verb_of_the_store_is_a_function_in_the_database(sql: psycopg.Connection) -> None:
    rows = sql.execute(
        "SELECT proname FROM pg_proc WHERE pronamespace = 'tenure'::regnamespace"
    ).fetchall()
    assert len(VERBS) > 80
    assert VERBS.keys() <= {name for (name,) in rows}


def test_async_code_gets_the_same_answers(database: str, store: Store) -> None:
    async def life(store: AsyncStore) -> tuple[Any, ...]:
        [enqueued] = await store.enqueue(NewJob(task="work", args={"x": 1}))
        record = await store.stop(enqueued.id)
        return enqueued.id, record, await store.show(enqueued.id), await store.statistics()

    job, record, shown, statistics = in_async(database, life)
    assert store.show(job) == shown
    [again] = store.cancellations()
    assert again.cancellation_id == record.cancellation_id
    assert again.job_became is record.job_became is State.CANCELLED
    assert store.statistics() == statistics


def test_a_store_speaks_for_its_tenant_alone(database: str, sql: psycopg.Connection) -> None:
    schema.migrate(sql, Tenant("acme"))
    with Store(database, Tenant("acme")) as acme, Store(database) as default:
        make_job(acme)
        assert (acme.statistics().total, default.statistics().total) == (1, 0)
        worker = make_worker(acme)
        assert default.renew(worker.id).alive


# The database goes away


class Waiting:
    """A call in a thread that waits for a lock of ours, so that it can be cut in the middle."""

    def __init__(self, sql: psycopg.Connection, call: Callable[[], Any]) -> None:
        self._sql = sql
        self._threads = ThreadPoolExecutor(1)
        self.answer: Future[Any] = self._threads.submit(call)
        eventually(self.backend)
        self._threads.shutdown(wait=False)

    def backend(self) -> int | None:
        row = self._sql.execute(
            "SELECT pid FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).fetchone()
        return None if row is None else int(row[0])

    def cut(self) -> None:
        self._sql.execute("SELECT pg_terminate_backend(%s, 5000)", (self.backend(),))


def terminate_all_others(sql: psycopg.Connection) -> None:
    sql.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


def test_connections_lost_between_calls_are_replaced_unnoticed(
    store: Store, sql: psycopg.Connection
) -> None:
    make_job(store)
    terminate_all_others(sql)
    make_job(store)
    terminate_all_others(sql)
    assert store.statistics().total == 2


def test_async_connections_lost_between_calls_are_replaced_unnoticed(
    database: str, sql: psycopg.Connection
) -> None:
    async def twice(store: AsyncStore) -> int:
        await store.enqueue(NewJob(task="work"))
        terminate_all_others(sql)
        await store.enqueue(NewJob(task="work"))
        return (await store.statistics()).total

    assert in_async(database, twice) == 2


def lock(connection: psycopg.Connection, job: int) -> None:
    connection.execute("SELECT FROM tenure.job WHERE id = %s FOR UPDATE", (job,))


def test_a_safe_call_that_was_cut_is_sent_again(
    store: Store, connect: Connect, sql: psycopg.Connection
) -> None:
    job, other = make_job(store), connect()
    lock(other, job)
    waiting = Waiting(sql, lambda: store.stop(job))
    waiting.cut()
    other.rollback()
    assert waiting.answer.result(20).job_id == job
    assert store.show(job).state is State.CANCELLED
    assert len(store.cancellations()) == 1


def test_a_safe_async_call_that_was_cut_is_sent_again(
    store: Store, database: str, connect: Connect, sql: psycopg.Connection
) -> None:
    job, other = make_job(store), connect()
    lock(other, job)
    waiting = Waiting(sql, lambda: in_async(database, lambda store: store.stop(job)))
    waiting.cut()
    other.rollback()
    assert waiting.answer.result(20).job_id == job


def test_an_unsafe_call_that_was_cut_says_that_nobody_knows(
    store: Store, connect: Connect, sql: psycopg.Connection
) -> None:
    job, other = make_job_in(store, State.PAUSED), connect()
    lock(other, job)
    waiting = Waiting(sql, lambda: store.resume(job))
    waiting.cut()
    with pytest.raises(StoreUnavailable) as lost:
        waiting.answer.result(20)
    assert str(lost.value) == ("the connection was lost during resume, and its outcome is unknown")
    other.rollback()
    assert store.show(job).state is State.PAUSED


def test_an_unsafe_async_call_that_was_cut_says_that_nobody_knows(
    store: Store, database: str, connect: Connect, sql: psycopg.Connection
) -> None:
    job, other = make_job_in(store, State.PAUSED), connect()
    lock(other, job)
    waiting = Waiting(sql, lambda: in_async(database, lambda store: store.resume(job)))
    waiting.cut()
    with pytest.raises(StoreUnavailable, match="the connection was lost during resume"):
        waiting.answer.result(20)


def test_a_call_that_found_a_lock_it_may_not_wait_for_is_sent_again(
    database: str, store: Store, connect: Connect, sql: psycopg.Connection
) -> None:
    job, other = make_job_in(store, State.PAUSED), connect()
    lock(other, job)
    with Store(f"{database}&options=-c%20lock_timeout%3D100ms") as hasty:
        waiting = Waiting(sql, lambda: hasty.resume(job))
        eventually(lambda: waiting.backend() is None)
        other.rollback()
        assert waiting.answer.result(20).state is State.PENDING


def test_a_lock_that_is_never_free_is_told_and_nothing_was_done(
    database: str, store: Store, connect: Connect
) -> None:
    job, other = make_job(store), connect()
    lock(other, job)
    with (
        Store(f"{database}&options=-c%20lock_timeout%3D10ms") as hasty,
        pytest.raises(StoreUnavailable, match=r"did not carry this out: .*lock timeout"),
    ):
        hasty.stop(job)
    assert store.show(job).state is State.PENDING


@pytest.mark.parametrize("kind", [errors.DiskFull, errors.OutOfMemory, errors.TooManyConnections])
def test_what_is_used_up_is_worth_another_try_and_certainly_not_done(
    kind: type[psycopg.Error],
) -> None:
    assert is_contention(kind())
    assert not is_outage(kind())
    assert isinstance(as_tenure_error(kind("could not extend file")), StoreUnavailable)


# A database that is not there, or not ours


def within(seconds: float, attempt: Callable[[], object]) -> str:
    began = time.monotonic()
    with pytest.raises(StoreUnavailable) as lost:
        attempt()
    assert time.monotonic() - began < seconds
    return str(lost.value)


def ask_once(url: str, **options: Any) -> object:
    with Store(url, **options) as store:
        return store.statistics()


NOWHERE = "postgresql://postgres@/tenure?host=/nowhere"


def test_a_database_that_is_not_there_is_given_up_after_the_connect_timeout() -> None:
    sentence = within(3, lambda: ask_once(NOWHERE, settings=IMPATIENT))
    assert sentence.startswith("the database cannot be reached: ")


def test_async_code_gives_up_after_the_connect_timeout_too() -> None:
    def ask() -> object:
        return in_async(NOWHERE, lambda store: store.statistics(), settings=IMPATIENT)

    assert within(3, ask).startswith("the database cannot be reached: ")


def test_a_server_that_never_answers_is_given_up_after_the_connect_timeout(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("s")
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(folder / ".s.PGSQL.5432"))
        silent.listen()
        url = f"postgresql://postgres@/tenure?host={folder}"
        within(6, lambda: ask_once(url, settings=IMPATIENT))


def test_a_database_without_the_schema_is_told_to_migrate(empty_database: str) -> None:
    with pytest.raises(SchemaMismatch, match=r"run: tenure migrate$"):
        ask_once(empty_database)


def test_a_tenant_without_a_schema_is_told_to_migrate(database: str) -> None:
    with pytest.raises(SchemaMismatch, match=r"run: tenure migrate$"):
        ask_once(database, tenant=Tenant("acme"))


def test_a_role_without_rights_is_not_allowed(database: str, sql: psycopg.Connection) -> None:
    name = conninfo_to_dict(database)["dbname"]
    sql.execute(f"CREATE ROLE nobody_of_{name} LOGIN".encode())
    url = database.replace("postgres@", f"nobody_of_{name}@")
    with pytest.raises(NotAllowed, match=r"^the database role may not do this: permission denied"):
        ask_once(url)


class Shared(dict[Any, bytes]):
    """Statements to which another thread adds one between two steps of the code that reads them."""

    def __iter__(self) -> Iterator[Any]:
        found = super().__iter__()
        self.setdefault("of another thread", b"")
        return found


def test_threads_that_call_for_many_tenants_share_the_kept_statements(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = Shared()
    monkeypatch.setattr(transport, "_statements", kept)
    monkeypatch.setattr(transport, "_MAX_STATEMENTS", 2)
    for at in range(5):
        call = queries.show(1).of(Tenant(f"t{at}"))
        assert b"show" in transport.statement(call)
    assert len(kept) == 2
