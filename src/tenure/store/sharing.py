"""Connections that tenants share: however many tenants there are, and none of them gets all.

Who waits for a lock keeps a connection meanwhile. A tenant that does so with all that one may have
leaves as many to the others.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from threading import BoundedSemaphore
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from tenure.config import Settings
from tenure.domain.tenant import Tenant
from tenure.errors import StoreUnavailable
from tenure.store.sending import connect_timeout, may_be_gone, options

MOST_TENANTS = 50  # that a backend gets to know; each costs it more than 2 MB
_FOR_ONE = 8  # connections that one tenant may have at a time
_FOR_ALL = 2 * _FOR_ONE
_ENOUGH = "its backend has got to know many tenants; another begins with none"

_Connection = psycopg.Connection[Any] | psycopg.AsyncConnection[Any]


class Shared:
    """For plain code."""

    def __init__(self, url: str, settings: Settings | None) -> None:
        self._timeout = connect_timeout(settings)
        self._met = _Met()
        self._places = defaultdict[Tenant, BoundedSemaphore](lambda: BoundedSemaphore(_FOR_ONE))
        self._pool = ConnectionPool(url, check=self._check, open=True, **_pooled(self._timeout))

    def close(self) -> None:
        self._pool.close()

    @contextmanager
    def connection(self, tenant: Tenant) -> Iterator[psycopg.Connection]:
        place = self._places[tenant]
        if not place.acquire(timeout=self._timeout):
            raise _crowded(tenant, self._timeout)
        try:
            with self._pool.connection() as connection:
                self._met.add(connection, tenant)
                yield connection
        finally:
            place.release()

    def _check(self, connection: psycopg.Connection) -> None:
        if self._met.too_many(connection):
            connection.close()
            raise psycopg.OperationalError(_ENOUGH)
        if may_be_gone(connection):
            ConnectionPool.check_connection(connection)


class AsyncShared:
    """For async code."""

    def __init__(self, url: str, settings: Settings | None) -> None:
        self._timeout = connect_timeout(settings)
        self._met = _Met()
        self._places = defaultdict[Tenant, asyncio.Semaphore](lambda: asyncio.Semaphore(_FOR_ONE))
        self._pool = AsyncConnectionPool(
            url, check=self._check, open=False, **_pooled(self._timeout)
        )

    async def open(self) -> None:
        await self._pool.open()

    async def close(self) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def connection(self, tenant: Tenant) -> AsyncIterator[psycopg.AsyncConnection]:
        place = self._places[tenant]
        try:
            async with asyncio.timeout(self._timeout if place.locked() else None):
                await place.acquire()
        except TimeoutError:
            raise _crowded(tenant, self._timeout) from None
        try:
            async with self._pool.connection() as connection:
                self._met.add(connection, tenant)
                yield connection
        finally:
            place.release()

    async def _check(self, connection: psycopg.AsyncConnection) -> None:
        if self._met.too_many(connection):
            await connection.close()
            raise psycopg.OperationalError(_ENOUGH)
        if may_be_gone(connection):
            await AsyncConnectionPool.check_connection(connection)


class _Met:
    """Which tenants the backend of a connection has got to know."""

    def __init__(self) -> None:
        self._by: WeakKeyDictionary[_Connection, set[Tenant]] = WeakKeyDictionary()

    def add(self, connection: _Connection, tenant: Tenant) -> None:
        self._by.setdefault(connection, set()).add(tenant)

    def too_many(self, connection: _Connection) -> bool:
        return len(self._by.get(connection, ())) > MOST_TENANTS


def _pooled(timeout: float) -> dict[str, Any]:
    return {
        "min_size": 0,
        "max_size": _FOR_ALL,
        "timeout": timeout,
        "reconnect_timeout": timeout,
        "kwargs": options(timeout),
    }


def _crowded(tenant: Tenant, timeout: float) -> StoreUnavailable:
    return StoreUnavailable(
        f"tenant {tenant.name!r} has {_FOR_ONE} calls under way, and none ended in {timeout:g} s"
    )
