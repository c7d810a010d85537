"""The line of a keeper to the database: one connection, one call at a time."""

import asyncio
from typing import TypeVar

import psycopg

from tenure.config import Settings
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import InputRefused, StoreUnavailable
from tenure.store.call import Call
from tenure.store.connection_pool import MOST_TENANTS
from tenure.store.dedicated_connection import DedicatedConnection, connect_dedicated
from tenure.store.driver_errors import is_contention
from tenure.store.transport import explain_error, read_answer, retry_delays, statement

T = TypeVar("T")


class SerialConnection:
    """Opened by the first call, and by the first one after an outage.

    An outage closes it and is raised as StoreUnavailable; whether to ask again is the keeper's
    decision. A call that is cancelled or timed out closes it too: nobody knows what it did.
    """

    def __init__(self, url: str, settings: Settings | None = None) -> None:
        self._url = url
        self._settings = settings
        self._connection: DedicatedConnection | None = None
        self._one_at_a_time = asyncio.Lock()
        self._tenants: set[Tenant] = set()  # of whom the backend knows

    async def send(self, call: Call[T], tenant: Tenant = DEFAULT) -> T:
        call = call.of(tenant)
        for pause in retry_delays():
            try:
                async with self._one_at_a_time:
                    await self._forget_most_tenants(tenant)
                    return await self._carry_out(call)
            except UnicodeError as error:
                raise InputRefused(f"a text cannot be written as UTF-8: {error}") from None
            except psycopg.Error as error:
                if pause is None or not is_contention(error):
                    raise explain_error(call, error) from error
            await asyncio.sleep(pause)
        raise AssertionError

    async def close(self) -> None:
        """Hang up, also on a call that is under way; a further one connects again."""
        if self._connection is not None:
            self._connection.cut()
        async with self._one_at_a_time:
            await self._hang_up()

    async def _forget_most_tenants(self, beside: Tenant) -> None:
        """A backend keeps all it has learned of a tenant: a new one knows of nobody."""
        if beside not in self._tenants and len(self._tenants) >= MOST_TENANTS:
            await self._hang_up()
        self._tenants.add(beside)

    async def _carry_out(self, call: Call[T]) -> T:
        try:
            if self._connection is None or self._connection.closed:
                self._connection = await connect_dedicated(
                    self._url, self._settings, "tenure keeper"
                )
            cursor = await self._connection.execute(statement(call), call.values)
            return read_answer(call, await cursor.fetchone())
        except psycopg.Error as error:
            # Also a server that has become a standby: the next connection may find the primary.
            if isinstance(explain_error(call, error), StoreUnavailable):
                await self._hang_up()
            raise

    async def _hang_up(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None
            self._tenants.clear()
