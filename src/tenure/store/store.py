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
    cataloguing,
    controlling,
    enqueueing,
    examining,
    keeping,
    looking,
    ruling,
    working,
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

    enqueue = _sent(enqueueing.enqueue)
    enqueue_many = _sent(enqueueing.enqueue_many)
    enqueue_reserved = _sent(enqueueing.enqueue_reserved)
    queue = _sent(enqueueing.queue)
    promote = _sent(enqueueing.promote)

    register = _sent(working.register)
    announce = _sent(working.announce)
    renew = _sent(working.renew)
    hear = _sent(working.hear)
    stirs = _sent(working.stirs)
    drain = _sent(working.drain)
    leave = _sent(working.leave)
    claim = _sent(working.claim)
    held = _sent(working.held)
    finish = _sent(working.finish)
    exchange = _sent(working.exchange)
    crash = _sent(working.crash)
    release = _sent(working.release)
    report = _sent(working.report)
    waiting_priority = _sent(working.waiting_priority)
    end_session = _sent(working.end_session)
    completed = _sent(working.completed)
    answer_look = _sent(working.answer_look)

    stop = _sent(controlling.stop)
    step = _sent(controlling.step)
    note_reached = _sent(controlling.note_reached)
    close_record = _sent(controlling.close_record)
    fail_records = _sent(controlling.fail_records)
    rollback = _sent(controlling.rollback)
    resume = _sent(controlling.resume)
    clear = _sent(controlling.clear)
    rerun = _sent(controlling.rerun)
    look_into = _sent(controlling.look_into)
    end_runner = _sent(controlling.end_runner)
    pause = _sent(controlling.pause)
    unpause = _sent(controlling.unpause)
    create_pool = _sent(controlling.create_pool)
    change_slots = _sent(controlling.change_slots)
    release_slot = _sent(controlling.release_slot)
    set_strategy = _sent(controlling.set_strategy)
    drop_strategy = _sent(controlling.drop_strategy)
    create_token = _sent(controlling.create_token)
    revoke_token = _sent(controlling.revoke_token)
    log_in = _sent(controlling.log_in)
    log_in_by_code = _sent(controlling.log_in_by_code)
    create_login_code = _sent(controlling.create_login_code)
    log_out = _sent(controlling.log_out)
    admit = _sent(controlling.admit)
    refuse = _sent(controlling.refuse)

    sweep = _sent(keeping.sweep)
    recover = _sent(keeping.recover)
    prune = _sent(keeping.prune)
    prune_records = _sent(keeping.prune_records)
    roll_up = _sent(keeping.roll_up)
    enforce_policies = _sent(keeping.enforce_policies)
    advance_bulk = _sent(keeping.advance_bulk)
    discards = _sent(keeping.discards)
    discarded = _sent(keeping.discarded)

    set_policy = _sent(ruling.set_policy)
    drop_policy = _sent(ruling.drop_policy)
    bulk_stop = _sent(ruling.bulk_stop)
    bulk_resume = _sent(ruling.bulk_resume)
    bulk_rerun = _sent(ruling.bulk_rerun)

    show = _sent(looking.show)
    list_jobs = _sent(looking.list_jobs)
    job_with_key = _sent(looking.job_with_key)
    explain = _sent(looking.explain)
    statistics = _sent(looking.statistics)
    totals = _sent(looking.totals)
    history = _sent(looking.history)
    cancellation = _sent(looking.cancellation)
    cancellations = _sent(looking.cancellations)
    movements = _sent(looking.movements)
    trail = _sent(looking.trail)
    kept = _sent(looking.kept)
    looked = _sent(looking.looked)
    runners = _sent(looking.runners)
    pools = _sent(looking.pools)
    workers = _sent(looking.workers)
    policies = _sent(looking.policies)
    bulk_preview = _sent(looking.bulk_preview)
    bulk = _sent(looking.bulk)
    bulks = _sent(looking.bulks)
    targets = _sent(looking.targets)
    strategies = _sent(looking.strategies)
    tasks = _sent(cataloguing.tasks)
    announce_tasks = _sent(cataloguing.announce_tasks)
    tokens = _sent(looking.tokens)
    principal = _sent(looking.principal)
    session_principal = _sent(looking.session_principal)
    whoami = _sent(looking.whoami)
    tenants = _sent(looking.tenants)

    server = _sent(examining.server)
    ailments = _sent(examining.ailments)
    stops = _sent(examining.stops)


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

    enqueue = _awaited(enqueueing.enqueue)
    enqueue_many = _awaited(enqueueing.enqueue_many)
    enqueue_reserved = _awaited(enqueueing.enqueue_reserved)
    queue = _awaited(enqueueing.queue)
    promote = _awaited(enqueueing.promote)

    register = _awaited(working.register)
    announce = _awaited(working.announce)
    renew = _awaited(working.renew)
    hear = _awaited(working.hear)
    stirs = _awaited(working.stirs)
    drain = _awaited(working.drain)
    leave = _awaited(working.leave)
    claim = _awaited(working.claim)
    held = _awaited(working.held)
    finish = _awaited(working.finish)
    exchange = _awaited(working.exchange)
    crash = _awaited(working.crash)
    release = _awaited(working.release)
    report = _awaited(working.report)
    waiting_priority = _awaited(working.waiting_priority)
    end_session = _awaited(working.end_session)
    completed = _awaited(working.completed)
    answer_look = _awaited(working.answer_look)

    stop = _awaited(controlling.stop)
    step = _awaited(controlling.step)
    note_reached = _awaited(controlling.note_reached)
    close_record = _awaited(controlling.close_record)
    fail_records = _awaited(controlling.fail_records)
    rollback = _awaited(controlling.rollback)
    resume = _awaited(controlling.resume)
    clear = _awaited(controlling.clear)
    rerun = _awaited(controlling.rerun)
    look_into = _awaited(controlling.look_into)
    end_runner = _awaited(controlling.end_runner)
    pause = _awaited(controlling.pause)
    unpause = _awaited(controlling.unpause)
    create_pool = _awaited(controlling.create_pool)
    change_slots = _awaited(controlling.change_slots)
    release_slot = _awaited(controlling.release_slot)
    set_strategy = _awaited(controlling.set_strategy)
    drop_strategy = _awaited(controlling.drop_strategy)
    create_token = _awaited(controlling.create_token)
    revoke_token = _awaited(controlling.revoke_token)
    log_in = _awaited(controlling.log_in)
    log_in_by_code = _awaited(controlling.log_in_by_code)
    create_login_code = _awaited(controlling.create_login_code)
    log_out = _awaited(controlling.log_out)
    admit = _awaited(controlling.admit)
    refuse = _awaited(controlling.refuse)

    sweep = _awaited(keeping.sweep)
    recover = _awaited(keeping.recover)
    prune = _awaited(keeping.prune)
    prune_records = _awaited(keeping.prune_records)
    roll_up = _awaited(keeping.roll_up)
    enforce_policies = _awaited(keeping.enforce_policies)
    advance_bulk = _awaited(keeping.advance_bulk)
    discards = _awaited(keeping.discards)
    discarded = _awaited(keeping.discarded)

    set_policy = _awaited(ruling.set_policy)
    drop_policy = _awaited(ruling.drop_policy)
    bulk_stop = _awaited(ruling.bulk_stop)
    bulk_resume = _awaited(ruling.bulk_resume)
    bulk_rerun = _awaited(ruling.bulk_rerun)

    show = _awaited(looking.show)
    list_jobs = _awaited(looking.list_jobs)
    job_with_key = _awaited(looking.job_with_key)
    explain = _awaited(looking.explain)
    statistics = _awaited(looking.statistics)
    totals = _awaited(looking.totals)
    history = _awaited(looking.history)
    cancellation = _awaited(looking.cancellation)
    cancellations = _awaited(looking.cancellations)
    movements = _awaited(looking.movements)
    trail = _awaited(looking.trail)
    kept = _awaited(looking.kept)
    looked = _awaited(looking.looked)
    runners = _awaited(looking.runners)
    pools = _awaited(looking.pools)
    workers = _awaited(looking.workers)
    policies = _awaited(looking.policies)
    bulk_preview = _awaited(looking.bulk_preview)
    bulk = _awaited(looking.bulk)
    bulks = _awaited(looking.bulks)
    targets = _awaited(looking.targets)
    strategies = _awaited(looking.strategies)
    tasks = _awaited(cataloguing.tasks)
    announce_tasks = _awaited(cataloguing.announce_tasks)
    tokens = _awaited(looking.tokens)
    principal = _awaited(looking.principal)
    session_principal = _awaited(looking.session_principal)
    whoami = _awaited(looking.whoami)
    tenants = _awaited(looking.tenants)

    server = _awaited(examining.server)
    ailments = _awaited(examining.ailments)
    stops = _awaited(examining.stops)


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
