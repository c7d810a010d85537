"""Connections that tenants share: however many tenants there are, and none of them gets all.

Who waits for a lock keeps a connection meanwhile. A tenant that does so with all that one may have
leaves as many to the others.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from threading import Event, Lock
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

_Connection = psycopg.Connection[Any] | psycopg.AsyncConnection[Any]


class Shared:
    """For plain code."""

    def __init__(self, url: str, settings: Settings | None) -> None:
        self._timeout = connect_timeout(settings)
        self._met = _Met()
        self._places: dict[Tenant, _Places] = {}
        self._pool = ConnectionPool(url, check=_check, open=True, **_pooled(self._timeout))

    @property
    def is_closed(self) -> bool:
        return self._pool.closed

    def close(self) -> None:
        self._pool.close()

    @contextmanager
    def connection(self, tenant: Tenant) -> Iterator[psycopg.Connection]:
        places = self._places.get(tenant) or self._places.setdefault(tenant, _Places(_FOR_ONE))
        if not places.take(self._timeout):
            raise _crowded(tenant, self._timeout)
        try:
            with self._pool.connection() as connection:
                self._met.add(connection, tenant)
                yield connection
        finally:
            places.leave()


class AsyncShared:
    """For async code."""

    def __init__(self, url: str, settings: Settings | None) -> None:
        self._timeout = connect_timeout(settings)
        self._met = _Met()
        self._places = defaultdict[Tenant, asyncio.Semaphore](lambda: asyncio.Semaphore(_FOR_ONE))
        self._pool = AsyncConnectionPool(url, check=_acheck, open=False, **_pooled(self._timeout))

    @property
    def is_closed(self) -> bool:
        return self._pool.closed

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


class _Places:
    """Threads wait in line for one; a semaphore would give it to whoever comes at that moment."""

    def __init__(self, free: int) -> None:
        self._free = free
        self._line: deque[Event] = deque()
        self._lock = Lock()

    def take(self, timeout: float) -> bool:
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            turn = Event()
            self._line.append(turn)
        try:
            return turn.wait(timeout) or not self._left_the_line(turn)
        except BaseException:
            if not self._left_the_line(turn):
                self.leave()
            raise

    def leave(self) -> None:
        with self._lock:
            if self._line:
                self._line.popleft().set()
            else:
                self._free += 1

    def _left_the_line(self, turn: Event) -> bool:
        """Not if it was given a place in the last moment."""
        with self._lock:
            if turn.is_set():
                return False
            self._line.remove(turn)
            return True


class _Met:
    """Which tenants the backend of a connection has got to know; one that knows many is replaced.

    When it comes back: a pool whose check refuses one pauses, and longer with each.
    """

    def __init__(self) -> None:
        self._by: WeakKeyDictionary[_Connection, set[Tenant]] = WeakKeyDictionary()

    def add(self, connection: _Connection, tenant: Tenant) -> None:
        met = self._by.setdefault(connection, set())
        met.add(tenant)
        if len(met) > MOST_TENANTS:
            connection._expire_at = 0.0  # the pool's own mark; it has no other way to say so


def _check(connection: psycopg.Connection) -> None:
    if may_be_gone(connection):
        ConnectionPool.check_connection(connection)


async def _acheck(connection: psycopg.AsyncConnection) -> None:
    if may_be_gone(connection):
        await AsyncConnectionPool.check_connection(connection)


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
