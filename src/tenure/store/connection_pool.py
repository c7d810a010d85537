"""A pool of connections that all tenants share.

A call that waits for a lock keeps its connection. A tenant may hold at most half of the pool, so
that such calls of one tenant leave the other half to the others.
"""

import asyncio
import os
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any, Generic, TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from tenure.config import Settings
from tenure.domain.tenant import Tenant
from tenure.errors import StoreUnavailable
from tenure.store.connection import abegin_session, aconnect, begin_session, connect
from tenure.store.transport import connect_timeout, may_be_closed

MAX_TENANTS = 50  # per backend, which caches more than 2 MB for each
_PER_TENANT = 8  # connections that a tenant may hold at a time
_TOTAL = 2 * _PER_TENANT
_MAX_AGE = 3600.0  # seconds
_MAX_IDLE = 600.0  # seconds that an unused connection is kept

C = TypeVar("C", psycopg.Connection[Any], psycopg.AsyncConnection[Any])
K = TypeVar("K", psycopg.RawCursor[Any], psycopg.AsyncRawCursor[Any])


@dataclass(eq=False)
class PooledConnection(Generic[C, K]):
    """A connection, its cursor, and the tenants of which its backend has cached metadata."""

    connection: C
    cursor: K  # kept, because making one takes longer than sending most statements
    since: float = field(default_factory=time.monotonic)
    idle_since: float = 0.0
    tenants: set[Tenant] = field(default_factory=set)

    @property
    def is_reusable(self) -> bool:
        is_idle = self.connection.pgconn.transaction_status == TransactionStatus.IDLE
        is_fresh = time.monotonic() - self.since < _MAX_AGE
        return is_idle and is_fresh and len(self.tenants) <= MAX_TENANTS


SyncPooled = PooledConnection[psycopg.Connection[Any], psycopg.RawCursor[Any]]
AsyncPooled = PooledConnection[psycopg.AsyncConnection[Any], psycopg.AsyncRawCursor[Any]]


class _Idle(Generic[C, K]):
    """The unused connections, and whether the database was ever reached."""

    def __init__(self, *, is_closed: bool) -> None:
        self.is_closed = is_closed
        self.has_connected = False
        self._process = os.getpid()
        self._idle: deque[PooledConnection[C, K]] = deque()  # last in, first out
        self._lock = Lock()

    def __del__(self) -> None:
        """Close the connections of a store that was never closed, but not in a forked child."""
        if self._process == os.getpid():
            for opened in self._idle:
                opened.connection.pgconn.finish()

    def pop(self) -> PooledConnection[C, K] | None:
        with self._lock:
            if self.is_closed:
                raise StoreUnavailable("this store is closed")
            return self._idle.pop() if self._idle else None

    def keep(self, opened: PooledConnection[C, K]) -> list[PooledConnection[C, K]]:
        """Keep a connection for the next call; return those that must be closed."""
        opened.idle_since = now = time.monotonic()
        with self._lock:
            if self.is_closed or not opened.is_reusable:
                worn = [opened]
            else:
                self._idle.append(opened)
                worn = []
            while self._idle and now - self._idle[0].idle_since > _MAX_IDLE:
                worn.append(self._idle.popleft())
        return worn

    def close(self) -> list[PooledConnection[C, K]]:
        """Keep no connection from now on; return those that must be closed."""
        with self._lock:
            self.is_closed = True
            idle, self._idle = list(self._idle), deque()
        return idle

    def is_worth_waiting(self, error: StoreUnavailable, until: float) -> bool:
        """Return whether the server was reachable before and may be restarting."""
        return self.has_connected and error.may_pass and time.monotonic() < until


class ConnectionPool:
    """Connections for synchronous code."""

    def __init__(self, url: str, settings: Settings | None) -> None:
        self._url, self._settings = url, settings
        self._timeout = connect_timeout(settings)
        self._slots: dict[Tenant, _Slots] = {}
        self._all_slots = _Slots(_TOTAL)
        self._idle = _Idle[psycopg.Connection[Any], psycopg.RawCursor[Any]](is_closed=False)

    @property
    def is_closed(self) -> bool:
        return self._idle.is_closed

    def close(self) -> None:
        for opened in self._idle.close():
            opened.connection.close()

    @contextmanager
    def connection(self, tenant: Tenant) -> Iterator[SyncPooled]:
        slots = self._slots.get(tenant) or self._slots.setdefault(tenant, _Slots(_PER_TENANT))
        if not slots.acquire(self._timeout):
            raise _crowded(tenant, self._timeout)
        try:
            if not self._all_slots.acquire(self._timeout):
                raise _crowded(None, self._timeout)
            try:
                opened = self._ready()
                try:
                    opened.tenants.add(tenant)
                    yield opened
                finally:
                    for worn in self._idle.keep(opened):
                        worn.connection.close()
            finally:
                self._all_slots.release()
        finally:
            slots.release()

    def _ready(self) -> SyncPooled:
        while opened := self._idle.pop():
            if not may_be_closed(opened.connection) or _answers(opened.connection):
                return opened
            opened.connection.close()
        connection = self._connected()
        return PooledConnection(connection, psycopg.RawCursor(connection))

    def _connected(self) -> psycopg.Connection[Any]:
        until = time.monotonic() + self._timeout
        for pause in _pauses():
            try:
                connection = connect(self._url, self._settings)
            except StoreUnavailable as error:
                if not self._idle.is_worth_waiting(error, until):
                    raise
                time.sleep(pause)
                continue
            try:
                begin_session(connection)
            except BaseException:
                connection.close()
                raise
            self._idle.has_connected = True
            return connection
        raise AssertionError


class AsyncConnectionPool:
    """Connections for async code."""

    def __init__(self, url: str, settings: Settings | None) -> None:
        self._url, self._settings = url, settings
        self._timeout = connect_timeout(settings)
        self._slots = defaultdict[Tenant, asyncio.Semaphore](lambda: asyncio.Semaphore(_PER_TENANT))
        self._all_slots = asyncio.Semaphore(_TOTAL)
        self._idle = _Idle[psycopg.AsyncConnection[Any], psycopg.AsyncRawCursor[Any]](
            is_closed=True
        )

    @property
    def is_closed(self) -> bool:
        return self._idle.is_closed

    async def open(self) -> None:
        self._idle.is_closed = False

    async def close(self) -> None:
        for opened in self._idle.close():
            await opened.connection.close()

    @asynccontextmanager
    async def connection(self, tenant: Tenant) -> AsyncIterator[AsyncPooled]:
        slots = self._slots[tenant]
        await self._acquire(slots, tenant)
        try:
            await self._acquire(self._all_slots, None)
            try:
                opened = await self._ready()
                try:
                    opened.tenants.add(tenant)
                    yield opened
                finally:
                    for worn in self._idle.keep(opened):
                        await worn.connection.close()
            finally:
                self._all_slots.release()
        finally:
            slots.release()

    async def _acquire(self, slots: asyncio.Semaphore, tenant: Tenant | None) -> None:
        if not slots.locked():
            await slots.acquire()  # at once
            return
        try:
            async with asyncio.timeout(self._timeout):
                await slots.acquire()
        except TimeoutError:
            raise _crowded(tenant, self._timeout) from None

    async def _ready(self) -> AsyncPooled:
        while opened := self._idle.pop():
            if not may_be_closed(opened.connection) or await _aanswers(opened.connection):
                return opened
            await opened.connection.close()
        connection = await self._connected()
        return PooledConnection(connection, psycopg.AsyncRawCursor(connection))

    async def _connected(self) -> psycopg.AsyncConnection[Any]:
        until = time.monotonic() + self._timeout
        for pause in _pauses():
            try:
                connection = await aconnect(self._url, self._settings)
            except StoreUnavailable as error:
                if not self._idle.is_worth_waiting(error, until):
                    raise
                await asyncio.sleep(pause)
                continue
            try:
                await abegin_session(connection)
            except BaseException:
                await connection.close()
                raise
            self._idle.has_connected = True
            return connection
        raise AssertionError


class _Slots:
    """A semaphore for threads that serves them in order of arrival."""

    def __init__(self, free: int) -> None:
        self._free = free
        self._waiting: deque[Event] = deque()
        self._lock = Lock()

    def acquire(self, timeout: float) -> bool:
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            granted = Event()
            self._waiting.append(granted)
        try:
            return granted.wait(timeout) or not self._stop_waiting(granted)
        except BaseException:
            if not self._stop_waiting(granted):
                self.release()
            raise

    def release(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1

    def _stop_waiting(self, granted: Event) -> bool:
        """Return false if the slot was granted at the last moment."""
        with self._lock:
            if granted.is_set():
                return False
            self._waiting.remove(granted)
            return True


def _answers(connection: psycopg.Connection[Any]) -> bool:
    try:
        connection.execute("SELECT")
    except psycopg.Error:
        return False
    return True


async def _aanswers(connection: psycopg.AsyncConnection[Any]) -> bool:
    try:
        await connection.execute("SELECT")
    except psycopg.Error:
        return False
    return True


def _pauses() -> Iterator[float]:
    """Yield the seconds between two attempts to connect."""
    pause = 0.05
    while True:
        yield pause
        pause = min(pause * 2, 0.5)


def _crowded(tenant: Tenant | None, timeout: float) -> StoreUnavailable:
    if tenant is None:
        return StoreUnavailable(
            f"{_TOTAL} calls of several tenants are under way, and none ended in {timeout:g} s"
        )
    return StoreUnavailable(
        f"tenant {tenant.name!r} has {_PER_TENANT} calls under way, and none ended in {timeout:g} s"
    )
