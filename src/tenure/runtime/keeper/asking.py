"""Asking the database, and not for ever."""

import asyncio
from typing import TypeVar

from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import StoreUnavailable
from tenure.store.call import Call
from tenure.store.serial_connection import SerialConnection

T = TypeVar("T")


async def asked(
    line: SerialConnection, call: Call[T], within: float, tenant: Tenant = DEFAULT
) -> T:
    """The answer. A peer that keeps the connection but says nothing counts as one that is away."""
    try:
        async with asyncio.timeout(within):
            return await line.send(call, tenant)
    except TimeoutError:
        raise StoreUnavailable(f"the database has not answered within {within:g} s") from None
