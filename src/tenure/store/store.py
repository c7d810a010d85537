"""The stores: each verb as a method, for synchronous and for async code.

A verb is declared once, in ``tenure.store.calls``, as a function that makes its call.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

import psycopg

from tenure.config import Settings
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import InputRefused
from tenure.store.call import Call
from tenure.store.calls import (
    control_calls,
    diagnosis,
    enqueue_calls,
    family_calls,
    policy_calls,
    queries,
    step_calls,
    task_calls,
    upkeep,
    webhook_calls,
    worker_calls,
)
from tenure.store.connection_pool import (
    AsyncConnectionPool,
    AsyncPooled,
    ConnectionPool,
    SyncPooled,
)
from tenure.store.driver_errors import is_contention, is_outage
from tenure.store.transport import (
    explain_error,
    raise_lost_cancel,
    read_answer,
    retry_delays,
    statement,
    timeout_statement,
)

P = ParamSpec("P")
T = TypeVar("T")


class Method(Generic[P, T]):
    """A verb as a method of both stores."""

    def __init__(self, make: Callable[P, Call[T]]) -> None:
        self.__wrapped__ = make
        self.__name__, self.__doc__ = make.__name__, make.__doc__

    @overload
    def __get__(self, store: None, owner: object = None) -> Self: ...

    @overload
    def __get__(self, store: "Store", owner: object = None) -> Callable[P, T]: ...

    @overload
    def __get__(self, store: "AsyncStore", owner: object = None) -> Callable[P, Awaitable[T]]: ...

    def __get__(self, store: "Store | AsyncStore | None", owner: object = None) -> Any:
        return self if store is None else partial(store._call, self.__wrapped__)


class Verbs:
    """The verbs, for one tenant, over a connection pool that tenants share."""

    tenant: Tenant
    _pool: ConnectionPool | AsyncConnectionPool

    def of(self, tenant: Tenant) -> Self:
        """Return a store for another tenant, over the same connections."""
        if tenant == self.tenant:
            return self
        other = copy(self)
        other.tenant = tenant
        return other

    @property
    def is_closed(self) -> bool:
        """Tell whether its connections are closed."""
        return self._pool.is_closed

    enqueue = Method(enqueue_calls.enqueue)
    enqueue_many = Method(enqueue_calls.enqueue_many)
    enqueue_reserved = Method(enqueue_calls.enqueue_reserved)
    queue = Method(enqueue_calls.queue)
    promote = Method(enqueue_calls.promote)

    register = Method(worker_calls.register)
    announce = Method(worker_calls.announce)
    renew = Method(worker_calls.renew)
    read_signals = Method(worker_calls.read_signals)
    tenant_activity = Method(worker_calls.tenant_activity)
    drain = Method(worker_calls.drain)
    leave = Method(worker_calls.leave)
    claim = Method(worker_calls.claim)
    held = Method(worker_calls.held)
    finish = Method(worker_calls.finish)
    exchange = Method(worker_calls.exchange)
    crash = Method(worker_calls.crash)
    release = Method(worker_calls.release)
    report = Method(worker_calls.report)
    waiting_priority = Method(worker_calls.waiting_priority)
    end_session = Method(worker_calls.end_session)
    completed = Method(worker_calls.completed)
    answer_inspection = Method(worker_calls.answer_inspection)

    kept_steps = Method(step_calls.kept_steps)
    await_step = Method(step_calls.await_step)
    steps = Method(step_calls.steps)
    questions = Method(step_calls.questions)
    answer = Method(step_calls.answer)
    publish = Method(step_calls.publish)

    stop = Method(control_calls.stop)
    step = Method(control_calls.step)
    note_reached = Method(control_calls.note_reached)
    close_record = Method(control_calls.close_record)
    fail_records = Method(control_calls.fail_records)
    rollback = Method(control_calls.rollback)
    resume = Method(control_calls.resume)
    clear = Method(control_calls.clear)
    rerun = Method(control_calls.rerun)
    inspect = Method(control_calls.inspect)
    end_runner = Method(control_calls.end_runner)
    pause_dispatch = Method(control_calls.pause_dispatch)
    resume_dispatch = Method(control_calls.resume_dispatch)
    set_limit = Method(control_calls.set_limit)
    drop_limit = Method(control_calls.drop_limit)
    close_limit = Method(control_calls.close_limit)
    open_limit = Method(control_calls.open_limit)
    limits = Method(queries.limits)
    set_webhook = Method(webhook_calls.set_webhook)
    rotate_webhook = Method(webhook_calls.rotate_webhook)
    drop_webhook = Method(webhook_calls.drop_webhook)
    test_webhook = Method(webhook_calls.test_webhook)
    redeliver = Method(webhook_calls.redeliver)
    webhooks = Method(webhook_calls.webhooks)
    deliveries = Method(webhook_calls.deliveries)
    due_webhooks = Method(webhook_calls.due_webhooks)
    take_deliveries = Method(webhook_calls.take_deliveries)
    record_deliveries = Method(webhook_calls.record_deliveries)
    create_pool = Method(control_calls.create_pool)
    change_slots = Method(control_calls.change_slots)
    release_slot = Method(control_calls.release_slot)
    set_strategy = Method(control_calls.set_strategy)
    drop_strategy = Method(control_calls.drop_strategy)
    create_token = Method(control_calls.create_token)
    revoke_token = Method(control_calls.revoke_token)
    log_in = Method(control_calls.log_in)
    log_in_by_code = Method(control_calls.log_in_by_code)
    create_login_code = Method(control_calls.create_login_code)
    log_out = Method(control_calls.log_out)
    admit = Method(control_calls.admit)
    refuse = Method(control_calls.refuse)

    sweep = Method(upkeep.sweep)
    recover = Method(upkeep.recover)
    prune = Method(upkeep.prune)
    prune_records = Method(upkeep.prune_records)
    roll_up = Method(upkeep.roll_up)
    enforce_policies = Method(upkeep.enforce_policies)
    advance_bulk = Method(upkeep.advance_bulk)
    discards = Method(upkeep.discards)
    discarded = Method(upkeep.discarded)

    set_policy = Method(policy_calls.set_policy)
    drop_policy = Method(policy_calls.drop_policy)
    bulk_stop = Method(policy_calls.bulk_stop)
    bulk_resume = Method(policy_calls.bulk_resume)
    bulk_rerun = Method(policy_calls.bulk_rerun)

    show = Method(queries.show)
    list_jobs = Method(queries.list_jobs)
    job_rows = Method(queries.job_rows)
    status_counts = Method(queries.status_counts)
    filter_values = Method(queries.filter_values)
    job_with_key = Method(queries.job_with_key)
    explain = Method(queries.explain)
    statistics = Method(queries.statistics)
    totals = Method(queries.totals)
    history = Method(queries.history)
    cancellation = Method(queries.cancellation)
    cancellations = Method(queries.cancellations)
    movements = Method(queries.movements)
    audit_log = Method(queries.audit_log)
    job_output = Method(queries.job_output)
    family = Method(family_calls.family)
    dependencies = Method(family_calls.dependencies)
    newest_output = Method(family_calls.newest_output)
    inspection = Method(queries.inspection)
    runners = Method(queries.runners)
    pools = Method(queries.pools)
    workers = Method(queries.workers)
    policies = Method(queries.policies)
    bulk_preview = Method(queries.bulk_preview)
    bulk = Method(queries.bulk)
    bulks = Method(queries.bulks)
    targets = Method(queries.targets)
    strategies = Method(queries.strategies)
    tasks = Method(task_calls.tasks)
    announce_tasks = Method(task_calls.announce_tasks)
    tokens = Method(queries.tokens)
    principal = Method(queries.principal)
    session_principal = Method(queries.session_principal)
    whoami = Method(queries.whoami)
    tenants = Method(queries.tenants)

    server = Method(diagnosis.server)
    diagnose = Method(diagnosis.diagnose)
    stops = Method(diagnosis.stops)


class Store(Verbs):
    """Send verbs for one tenant from synchronous code."""

    _pool: ConnectionPool

    def __init__(
        self, url: str, tenant: Tenant = DEFAULT, settings: Settings | None = None
    ) -> None:
        self.tenant = tenant
        self._pool = ConnectionPool(url, settings)

    def close(self) -> None:
        """Close the connections, for all tenants."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(self, make: Callable[P, Call[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Make a call and send it."""
        return self.send(make(*args, **kwargs))

    def send(self, call: Call[T]) -> T:
        """Send a call, and retry it where that is safe."""
        call = call.of(self.tenant)
        for pause in retry_delays():
            with _retried(call, pause):
                with self._pool.connection(self.tenant) as opened:
                    row = _row(opened, call)
                return read_answer(call, row)
            time.sleep(pause or 0)
        raise AssertionError


class AsyncStore(Verbs):
    """Send verbs for one tenant from async code. Use it as an async context manager."""

    _pool: AsyncConnectionPool

    def __init__(
        self, url: str, tenant: Tenant = DEFAULT, settings: Settings | None = None
    ) -> None:
        self.tenant = tenant
        self._pool = AsyncConnectionPool(url, settings)

    async def open(self) -> None:
        """Open the connections."""
        await self._pool.open()

    async def close(self) -> None:
        """Close the connections, for all tenants."""
        await self._pool.close()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _call(self, make: Callable[P, Call[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Make a call and send it."""
        return await self.send(make(*args, **kwargs))

    async def send(self, call: Call[T]) -> T:
        """Send a call, and retry it where that is safe."""
        call = call.of(self.tenant)
        for pause in retry_delays():
            with _retried(call, pause):
                with raise_lost_cancel():
                    async with self._pool.connection(self.tenant) as opened:
                        row = await _arow(opened, call)
                return read_answer(call, row)
            await asyncio.sleep(pause or 0)
        raise AssertionError


def _row(opened: SyncPooled, call: Call[Any]) -> tuple[Any, ...] | None:
    if call.timeout is None:
        return opened.cursor.execute(statement(call), call.values).fetchone()
    with opened.connection.pipeline():  # one round trip, one transaction
        opened.connection.execute(timeout_statement(call.timeout))
        return opened.cursor.execute(statement(call), call.values).fetchone()


async def _arow(opened: AsyncPooled, call: Call[Any]) -> tuple[Any, ...] | None:
    if call.timeout is None:
        await opened.cursor.execute(statement(call), call.values)
        return await opened.cursor.fetchone()
    async with opened.connection.pipeline():
        await opened.connection.execute(timeout_statement(call.timeout))
        await opened.cursor.execute(statement(call), call.values)
        return await opened.cursor.fetchone()


@contextmanager
def _retried(call: Call[Any], pause: float | None) -> Iterator[None]:
    """Explain an error of this try, unless another try follows after a pause."""
    try:
        yield
    except UnicodeError as error:
        raise InputRefused(f"a string cannot be encoded as UTF-8: {error}") from None
    except RecursionError:
        raise InputRefused("the arguments are nested too deeply") from None
    except psycopg.Error as error:
        is_retryable = is_contention(error) or (call.safe and is_outage(error))
        if pause is None or not is_retryable:
            raise explain_error(call, error) from error
