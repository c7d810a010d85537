"""Connections that tenants share: however many tenants there are, and none of them gets all.

Who waits for a lock keeps a connection meanwhile. A tenant that does so with all that one may have
leaves as many to the others.
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
from tenure.store.connection import aconnect, arefuse_newer, connect, refuse_newer
from tenure.store.transport import connect_timeout, may_be_closed

MOST_TENANTS = 50  # that a backend gets to know; each costs it more than 2 MB
_FOR_ONE = 8  # connections that one tenant may have at a time
_FOR_ALL = 2 * _FOR_ONE
_LONGEST_LIFE = 3600.0  # seconds that a connection is used
_LONGEST_IDLE = 600.0  # seconds that one is kept which nobody uses

C = TypeVar("C", psycopg.Connection[Any], psycopg.AsyncConnection[Any])


@dataclass(eq=False)
class _Opened(Generic[C]):
    """A connection, and which tenants its backend has got to know."""

    connection: C
    since: float = field(default_factory=time.monotonic)
    idle_since: float = 0.0
    tenants: set[Tenant] = field(default_factory=set)

    @property
    def is_reusable(self) -> bool:
        is_idle = self.connection.info.transaction_status is TransactionStatus.IDLE
        is_young = time.monotonic() - self.since < _LONGEST_LIFE
        return is_idle and is_young and len(self.tenants) <= MOST_TENANTS


class _Idle(Generic[C]):
    """Connections that nobody uses, and whether the database was ever reached."""

    def __init__(self, *, is_closed: bool) -> None:
        self.is_closed = is_closed
        self.has_connected = False
        self._process = os.getpid()
        self._idle: deque[_Opened[C]] = deque()  # the one used last is used next
        self._lock = Lock()

    def __del__(self) -> None:
        """Close what a store that was never closed leaves; not what a fork has inherited."""
        if self._process == os.getpid():
            for opened in self._idle:
                opened.connection.pgconn.finish()

    def take(self) -> _Opened[C] | None:
        with self._lock:
            if self.is_closed:
                raise StoreUnavailable("this store is closed")
            return self._idle.pop() if self._idle else None

    def keep(self, opened: _Opened[C]) -> list[_Opened[C]]:
        """Keep a connection for the next call; return those that are to be closed."""
        opened.idle_since = now = time.monotonic()
        with self._lock:
            if self.is_closed or not opened.is_reusable:
                worn = [opened]
            else:
                self._idle.append(opened)
                worn = []
            while self._idle and now - self._idle[0].idle_since > _LONGEST_IDLE:
                worn.append(self._idle.popleft())
        return worn

    def close(self) -> list[_Opened[C]]:
        """Keep none from now on; return those that are to be closed."""
        with self._lock:
            self.is_closed = True
            idle, self._idle = list(self._idle), deque()
        return idle

    def is_worth_waiting(self, error: StoreUnavailable, until: float) -> bool:
        """Wait for a server that was there before and restarts; tell everything else at once."""
        return self.has_connected and error.may_pass and time.monotonic() < until


class ConnectionPool:
    """For plain code."""

    def __init__(self, url: str, settings: Settings | None) -> None:
        self._url, self._settings = url, settings
        self._timeout = connect_timeout(settings)
        self._places: dict[Tenant, _Places] = {}
        self._all_places = _Places(_FOR_ALL)
        self._idle = _Idle[psycopg.Connection[Any]](is_closed=False)

    @property
    def is_closed(self) -> bool:
        return self._idle.is_closed

    def close(self) -> None:
        for opened in self._idle.close():
            opened.connection.close()

    @contextmanager
    def connection(self, tenant: Tenant) -> Iterator[psycopg.Connection]:
        places = self._places.get(tenant) or self._places.setdefault(tenant, _Places(_FOR_ONE))
        with self._place_in(places, tenant), self._place_in(self._all_places, tenant):
            opened = self._ready()
            try:
                opened.tenants.add(tenant)
                yield opened.connection
            finally:
                for worn in self._idle.keep(opened):
                    worn.connection.close()

    @contextmanager
    def _place_in(self, places: "_Places", tenant: Tenant) -> Iterator[None]:
        if not places.take(self._timeout):
            raise _crowded(tenant if places is not self._all_places else None, self._timeout)
        try:
            yield
        finally:
            places.leave()

    def _ready(self) -> _Opened[psycopg.Connection[Any]]:
        while opened := self._idle.take():
            if not may_be_closed(opened.connection) or _answers(opened.connection):
                return opened
            opened.connection.close()
        return _Opened(self._connected())

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
                refuse_newer(connection)
            except BaseException:
                connection.close()
                raise
            self._idle.has_connected = True
            return connection
        raise AssertionError


class AsyncConnectionPool:
    """For async code."""

    def __init__(self, url: str, settings: Settings | None) -> None:
        self._url, self._settings = url, settings
        self._timeout = connect_timeout(settings)
        self._places = defaultdict[Tenant, asyncio.Semaphore](lambda: asyncio.Semaphore(_FOR_ONE))
        self._all_places = asyncio.Semaphore(_FOR_ALL)
        self._idle = _Idle[psycopg.AsyncConnection[Any]](is_closed=True)

    @property
    def is_closed(self) -> bool:
        return self._idle.is_closed

    async def open(self) -> None:
        self._idle.is_closed = False

    async def close(self) -> None:
        for opened in self._idle.close():
            await opened.connection.close()

    @asynccontextmanager
    async def connection(self, tenant: Tenant) -> AsyncIterator[psycopg.AsyncConnection]:
        places = self._places[tenant]
        async with self._place_in(places, tenant), self._place_in(self._all_places, tenant):
            opened = await self._ready()
            try:
                opened.tenants.add(tenant)
                yield opened.connection
            finally:
                for worn in self._idle.keep(opened):
                    await worn.connection.close()

    @asynccontextmanager
    async def _place_in(self, places: asyncio.Semaphore, tenant: Tenant) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._timeout if places.locked() else None):
                await places.acquire()
        except TimeoutError:
            every = places is self._all_places
            raise _crowded(None if every else tenant, self._timeout) from None
        try:
            yield
        finally:
            places.release()

    async def _ready(self) -> _Opened[psycopg.AsyncConnection[Any]]:
        while opened := self._idle.take():
            if not may_be_closed(opened.connection) or await _aanswers(opened.connection):
                return opened
            await opened.connection.close()
        return _Opened(await self._connected())

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
                await arefuse_newer(connection)
            except BaseException:
                await connection.close()
                raise
            self._idle.has_connected = True
            return connection
        raise AssertionError


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
            f"{_FOR_ALL} calls of several tenants are under way, and none ended in {timeout:g} s"
        )
    return StoreUnavailable(
        f"tenant {tenant.name!r} has {_FOR_ONE} calls under way, and none ended in {timeout:g} s"
    )
