"""The stores: each verb as a method, for plain code and for async code.

The two lists below are the same list. A verb is defined once, as a function that makes its call;
here it is only said who sends it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from copy import copy
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import psycopg

from tenure.config import Settings
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import InputRefused
from tenure.store.call import Call
from tenure.store.calls import (
    control_calls,
    diagnosis,
    enqueue_calls,
    policy_calls,
    queries,
    task_calls,
    upkeep,
    worker_calls,
)
from tenure.store.faults import is_contention, is_outage
from tenure.store.sending import explained, heeding_cancels, limit, pauses, read, statement
from tenure.store.sharing import AsyncShared, Shared

P = ParamSpec("P")
T = TypeVar("T")


def _sent(make: Callable[P, Call[T]]) -> Callable[Concatenate["Store", P], T]:
    def verb(self: "Store", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.send(make(*args, **kwargs))

    verb.__name__, verb.__doc__ = make.__name__, make.__doc__
    return verb


def _awaited(make: Callable[P, Call[T]]) -> Callable[Concatenate["AsyncStore", P], Awaitable[T]]:
    async def verb(self: "AsyncStore", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.send(make(*args, **kwargs))

    verb.__name__, verb.__doc__ = make.__name__, make.__doc__
    return verb


class _OfTenant:
    """One tenant, over connections that it shares with others."""

    tenant: Tenant
    _shared: Shared | AsyncShared

    def of(self, tenant: Tenant) -> Self:
        """The verbs for another tenant, over the same connections."""
        if tenant == self.tenant:
            return self
        other = copy(self)
        other.tenant = tenant
        return other

    @property
    def is_closed(self) -> bool:
        return self._shared.is_closed


class Store(_OfTenant):
    """The verbs for one tenant, from plain code."""

    _shared: Shared

    def __init__(
        self, url: str, tenant: Tenant = DEFAULT, settings: Settings | None = None
    ) -> None:
        self.tenant = tenant
        self._shared = Shared(url, settings)

    def close(self) -> None:
        """For all tenants."""
        self._shared.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, call: Call[T]) -> T:
        """Carry out a call; again where that is safe."""
        call = call.of(self.tenant)
        for pause in pauses():
            try:
                with self._shared.connection(self.tenant) as connection:
                    row = _row(connection, call)
                return read(call, row)
            except UnicodeError as error:
                raise InputRefused(f"a text cannot be written as UTF-8: {error}") from None
            except RecursionError:
                raise InputRefused("what was handed in is nested too deep") from None
            except psycopg.Error as error:
                _raise_unless_worth_another_try(call, error, pause)
            time.sleep(pause or 0)
        raise AssertionError

    enqueue = _sent(enqueue_calls.enqueue)
    enqueue_many = _sent(enqueue_calls.enqueue_many)
    enqueue_reserved = _sent(enqueue_calls.enqueue_reserved)
    queue = _sent(enqueue_calls.queue)
    promote = _sent(enqueue_calls.promote)

    register = _sent(worker_calls.register)
    announce = _sent(worker_calls.announce)
    renew = _sent(worker_calls.renew)
    read_signals = _sent(worker_calls.read_signals)
    tenant_activity = _sent(worker_calls.tenant_activity)
    drain = _sent(worker_calls.drain)
    leave = _sent(worker_calls.leave)
    claim = _sent(worker_calls.claim)
    held = _sent(worker_calls.held)
    finish = _sent(worker_calls.finish)
    exchange = _sent(worker_calls.exchange)
    crash = _sent(worker_calls.crash)
    release = _sent(worker_calls.release)
    report = _sent(worker_calls.report)
    waiting_priority = _sent(worker_calls.waiting_priority)
    end_session = _sent(worker_calls.end_session)
    completed = _sent(worker_calls.completed)
    answer_inspection = _sent(worker_calls.answer_inspection)

    stop = _sent(control_calls.stop)
    step = _sent(control_calls.step)
    note_reached = _sent(control_calls.note_reached)
    close_record = _sent(control_calls.close_record)
    fail_records = _sent(control_calls.fail_records)
    rollback = _sent(control_calls.rollback)
    resume = _sent(control_calls.resume)
    clear = _sent(control_calls.clear)
    rerun = _sent(control_calls.rerun)
    inspect = _sent(control_calls.inspect)
    end_runner = _sent(control_calls.end_runner)
    pause = _sent(control_calls.pause)
    unpause = _sent(control_calls.unpause)
    create_pool = _sent(control_calls.create_pool)
    change_slots = _sent(control_calls.change_slots)
    release_slot = _sent(control_calls.release_slot)
    set_strategy = _sent(control_calls.set_strategy)
    drop_strategy = _sent(control_calls.drop_strategy)
    create_token = _sent(control_calls.create_token)
    revoke_token = _sent(control_calls.revoke_token)
    log_in = _sent(control_calls.log_in)
    log_in_by_code = _sent(control_calls.log_in_by_code)
    create_login_code = _sent(control_calls.create_login_code)
    log_out = _sent(control_calls.log_out)
    admit = _sent(control_calls.admit)
    refuse = _sent(control_calls.refuse)

    sweep = _sent(upkeep.sweep)
    recover = _sent(upkeep.recover)
    prune = _sent(upkeep.prune)
    prune_records = _sent(upkeep.prune_records)
    roll_up = _sent(upkeep.roll_up)
    enforce_policies = _sent(upkeep.enforce_policies)
    advance_bulk = _sent(upkeep.advance_bulk)
    discards = _sent(upkeep.discards)
    discarded = _sent(upkeep.discarded)

    set_policy = _sent(policy_calls.set_policy)
    drop_policy = _sent(policy_calls.drop_policy)
    bulk_stop = _sent(policy_calls.bulk_stop)
    bulk_resume = _sent(policy_calls.bulk_resume)
    bulk_rerun = _sent(policy_calls.bulk_rerun)

    show = _sent(queries.show)
    list_jobs = _sent(queries.list_jobs)
    job_with_key = _sent(queries.job_with_key)
    explain = _sent(queries.explain)
    statistics = _sent(queries.statistics)
    totals = _sent(queries.totals)
    history = _sent(queries.history)
    cancellation = _sent(queries.cancellation)
    cancellations = _sent(queries.cancellations)
    movements = _sent(queries.movements)
    audit_log = _sent(queries.audit_log)
    job_output = _sent(queries.job_output)
    inspection = _sent(queries.inspection)
    runners = _sent(queries.runners)
    pools = _sent(queries.pools)
    workers = _sent(queries.workers)
    policies = _sent(queries.policies)
    bulk_preview = _sent(queries.bulk_preview)
    bulk = _sent(queries.bulk)
    bulks = _sent(queries.bulks)
    targets = _sent(queries.targets)
    strategies = _sent(queries.strategies)
    tasks = _sent(task_calls.tasks)
    announce_tasks = _sent(task_calls.announce_tasks)
    tokens = _sent(queries.tokens)
    principal = _sent(queries.principal)
    session_principal = _sent(queries.session_principal)
    whoami = _sent(queries.whoami)
    tenants = _sent(queries.tenants)

    server = _sent(diagnosis.server)
    diagnose = _sent(diagnosis.diagnose)
    stops = _sent(diagnosis.stops)


class AsyncStore(_OfTenant):
    """The verbs for one tenant, from async code. Use it as an async context manager."""

    _shared: AsyncShared

    def __init__(
        self, url: str, tenant: Tenant = DEFAULT, settings: Settings | None = None
    ) -> None:
        self.tenant = tenant
        self._shared = AsyncShared(url, settings)

    async def open(self) -> None:
        await self._shared.open()

    async def close(self) -> None:
        """For all tenants."""
        await self._shared.close()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def send(self, call: Call[T]) -> T:
        """Carry out a call; again where that is safe."""
        call = call.of(self.tenant)
        for pause in pauses():
            try:
                with heeding_cancels():
                    async with self._shared.connection(self.tenant) as connection:
                        row = await _arow(connection, call)
                return read(call, row)
            except UnicodeError as error:
                raise InputRefused(f"a text cannot be written as UTF-8: {error}") from None
            except RecursionError:
                raise InputRefused("what was handed in is nested too deep") from None
            except psycopg.Error as error:
                _raise_unless_worth_another_try(call, error, pause)
            await asyncio.sleep(pause or 0)
        raise AssertionError

    enqueue = _awaited(enqueue_calls.enqueue)
    enqueue_many = _awaited(enqueue_calls.enqueue_many)
    enqueue_reserved = _awaited(enqueue_calls.enqueue_reserved)
    queue = _awaited(enqueue_calls.queue)
    promote = _awaited(enqueue_calls.promote)

    register = _awaited(worker_calls.register)
    announce = _awaited(worker_calls.announce)
    renew = _awaited(worker_calls.renew)
    read_signals = _awaited(worker_calls.read_signals)
    tenant_activity = _awaited(worker_calls.tenant_activity)
    drain = _awaited(worker_calls.drain)
    leave = _awaited(worker_calls.leave)
    claim = _awaited(worker_calls.claim)
    held = _awaited(worker_calls.held)
    finish = _awaited(worker_calls.finish)
    exchange = _awaited(worker_calls.exchange)
    crash = _awaited(worker_calls.crash)
    release = _awaited(worker_calls.release)
    report = _awaited(worker_calls.report)
    waiting_priority = _awaited(worker_calls.waiting_priority)
    end_session = _awaited(worker_calls.end_session)
    completed = _awaited(worker_calls.completed)
    answer_inspection = _awaited(worker_calls.answer_inspection)

    stop = _awaited(control_calls.stop)
    step = _awaited(control_calls.step)
    note_reached = _awaited(control_calls.note_reached)
    close_record = _awaited(control_calls.close_record)
    fail_records = _awaited(control_calls.fail_records)
    rollback = _awaited(control_calls.rollback)
    resume = _awaited(control_calls.resume)
    clear = _awaited(control_calls.clear)
    rerun = _awaited(control_calls.rerun)
    inspect = _awaited(control_calls.inspect)
    end_runner = _awaited(control_calls.end_runner)
    pause = _awaited(control_calls.pause)
    unpause = _awaited(control_calls.unpause)
    create_pool = _awaited(control_calls.create_pool)
    change_slots = _awaited(control_calls.change_slots)
    release_slot = _awaited(control_calls.release_slot)
    set_strategy = _awaited(control_calls.set_strategy)
    drop_strategy = _awaited(control_calls.drop_strategy)
    create_token = _awaited(control_calls.create_token)
    revoke_token = _awaited(control_calls.revoke_token)
    log_in = _awaited(control_calls.log_in)
    log_in_by_code = _awaited(control_calls.log_in_by_code)
    create_login_code = _awaited(control_calls.create_login_code)
    log_out = _awaited(control_calls.log_out)
    admit = _awaited(control_calls.admit)
    refuse = _awaited(control_calls.refuse)

    sweep = _awaited(upkeep.sweep)
    recover = _awaited(upkeep.recover)
    prune = _awaited(upkeep.prune)
    prune_records = _awaited(upkeep.prune_records)
    roll_up = _awaited(upkeep.roll_up)
    enforce_policies = _awaited(upkeep.enforce_policies)
    advance_bulk = _awaited(upkeep.advance_bulk)
    discards = _awaited(upkeep.discards)
    discarded = _awaited(upkeep.discarded)

    set_policy = _awaited(policy_calls.set_policy)
    drop_policy = _awaited(policy_calls.drop_policy)
    bulk_stop = _awaited(policy_calls.bulk_stop)
    bulk_resume = _awaited(policy_calls.bulk_resume)
    bulk_rerun = _awaited(policy_calls.bulk_rerun)

    show = _awaited(queries.show)
    list_jobs = _awaited(queries.list_jobs)
    job_with_key = _awaited(queries.job_with_key)
    explain = _awaited(queries.explain)
    statistics = _awaited(queries.statistics)
    totals = _awaited(queries.totals)
    history = _awaited(queries.history)
    cancellation = _awaited(queries.cancellation)
    cancellations = _awaited(queries.cancellations)
    movements = _awaited(queries.movements)
    audit_log = _awaited(queries.audit_log)
    job_output = _awaited(queries.job_output)
    inspection = _awaited(queries.inspection)
    runners = _awaited(queries.runners)
    pools = _awaited(queries.pools)
    workers = _awaited(queries.workers)
    policies = _awaited(queries.policies)
    bulk_preview = _awaited(queries.bulk_preview)
    bulk = _awaited(queries.bulk)
    bulks = _awaited(queries.bulks)
    targets = _awaited(queries.targets)
    strategies = _awaited(queries.strategies)
    tasks = _awaited(task_calls.tasks)
    announce_tasks = _awaited(task_calls.announce_tasks)
    tokens = _awaited(queries.tokens)
    principal = _awaited(queries.principal)
    session_principal = _awaited(queries.session_principal)
    whoami = _awaited(queries.whoami)
    tenants = _awaited(queries.tenants)

    server = _awaited(diagnosis.server)
    diagnose = _awaited(diagnosis.diagnose)
    stops = _awaited(diagnosis.stops)


def _row(connection: psycopg.Connection[Any], call: Call[Any]) -> tuple[Any, ...] | None:
    if call.timeout is None:
        return connection.execute(statement(call), call.values).fetchone()
    with connection.pipeline():  # both in one round trip and one transaction
        connection.execute(limit(call.timeout))
        return connection.execute(statement(call), call.values).fetchone()


async def _arow(
    connection: psycopg.AsyncConnection[Any], call: Call[Any]
) -> tuple[Any, ...] | None:
    if call.timeout is None:
        return await (await connection.execute(statement(call), call.values)).fetchone()
    async with connection.pipeline():
        await connection.execute(limit(call.timeout))
        return await (await connection.execute(statement(call), call.values)).fetchone()


def _raise_unless_worth_another_try(
    call: Call[T], error: psycopg.Error, pause: float | None
) -> None:
    again = is_contention(error) or (call.safe and is_outage(error))
    if pause is None or not again:
        raise explained(call, error) from error
