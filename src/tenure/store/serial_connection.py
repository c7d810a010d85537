"""A connection of a keeper that sends one call at a time."""

import asyncio
from typing import TypeVar

import psycopg

from tenure.config import Settings
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import InputRefused, StoreUnavailable
from tenure.store.call import Call
from tenure.store.connection_pool import MAX_TENANTS
from tenure.store.dedicated_connection import DedicatedConnection, connect_dedicated
from tenure.store.driver_errors import is_contention
from tenure.store.transport import (
    BACKEND,
    explain_error,
    prepare_if_direct,
    read_answer,
    retry_delays,
    statement,
)

T = TypeVar("T")


class SerialConnection:
    """Send one call at a time; connect at the first call, and again after an outage.

    An outage closes the connection and raises StoreUnavailable; the keeper decides whether to
    retry. A call that is cancelled or timed out also closes it, because its outcome is unknown.
    """

    def __init__(self, url: str, settings: Settings | None = None) -> None:
        self._url = url
        self._settings = settings
        self._connection: DedicatedConnection | None = None
        self._lock = asyncio.Lock()
        self._tenants: set[Tenant] = set()  # of which the backend has cached metadata

    async def send(self, call: Call[T], tenant: Tenant = DEFAULT) -> T:
        call = call.of(tenant)
        for pause in retry_delays():
            try:
                async with self._lock:
                    await self._limit_tenants(tenant)
                    return await self._send(call)
            except UnicodeError as error:
                raise InputRefused(f"a string cannot be encoded as UTF-8: {error}") from None
            except psycopg.Error as error:
                if pause is None or not is_contention(error):
                    raise explain_error(call, error) from error
            await asyncio.sleep(pause)
        raise AssertionError

    async def close(self) -> None:
        """Disconnect, also during a call; the next call connects again."""
        if self._connection is not None:
            self._connection.cut()
        async with self._lock:
            await self._disconnect()

    async def _limit_tenants(self, tenant: Tenant) -> None:
        """Reconnect before a backend has cached metadata of too many tenants."""
        if tenant not in self._tenants and len(self._tenants) >= MAX_TENANTS:
            await self._disconnect()
        self._tenants.add(tenant)

    async def _send(self, call: Call[T]) -> T:
        try:
            if self._connection is None or self._connection.closed:
                self._connection = await connect_dedicated(
                    self._url, self._settings, "tenure keeper"
                )
                self._cursor = psycopg.AsyncRawCursor(self._connection)
                await self._cursor.execute(BACKEND)
                prepare_if_direct(self._connection, await self._cursor.fetchone())
            await self._cursor.execute(statement(call), call.values)
            return read_answer(call, await self._cursor.fetchone())
        except psycopg.Error as error:
            # Also for a server that became a standby: the next connection may find the primary.
            if isinstance(explain_error(call, error), StoreUnavailable):
                await self._disconnect()
            raise

    async def _disconnect(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None
            self._tenants.clear()
