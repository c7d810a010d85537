"""Calls to the database: with a timeout, and across outages."""

import asyncio
import logging
import time
from typing import Any, TypeVar

from tenure.config import Settings
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import StoreUnavailable, TenureError
from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.keeper.background_tasks import BackgroundTasks
from tenure.runtime.keeper.database.backoff import Backoff
from tenure.runtime.keeper.database.lease import Lease
from tenure.store.call import Call
from tenure.store.serial_connection import SerialConnection
from tenure.store.store import AsyncStore

_log = logging.getLogger("tenure.worker")

T = TypeVar("T")


async def ask_within(
    line: SerialConnection, call: Call[T], seconds: float, tenant: Tenant = DEFAULT
) -> T:
    """Send a call. A server that keeps the connection but does not answer counts as unavailable."""
    try:
        async with asyncio.timeout(seconds):
            return await line.send(call, tenant)
    except TimeoutError:
        raise StoreUnavailable(f"the database has not answered within {seconds:g} s") from None


class DatabaseAccess:
    """The stores of a worker: ``shared`` for what all tenants share, and one for each tenant."""

    def __init__(self, url: str, settings: Settings, lease: Lease, tasks: BackgroundTasks) -> None:
        self.shared = AsyncStore(url, settings=settings)
        self._stores: dict[str, AsyncStore] = {}
        self._lease = lease
        self._tasks = tasks
        self._is_away = False
        self.answered_at = time.monotonic()

    def store(self, tenant: str) -> AsyncStore:
        if tenant not in self._stores:
            self._stores[tenant] = self.shared.of(Tenant(tenant))
        return self._stores[tenant]

    def retry_in_background(self, call: Call[Any], tenant: str) -> None:
        self._tasks.start(self.retry_until_answered(call, tenant))

    async def retry_until_answered(self, call: Call[T], tenant: str) -> T | None:
        """Return the answer however long the database is away; None if it refuses the call."""
        backoff = Backoff()
        while True:
            try:
                return await self.store(tenant).send(call)
            except StoreUnavailable as problem:
                await self.wait_out(problem, backoff)
            except TenureError as problem:
                _log.info("%s: %s", call.verb, problem, extra={"tenant": tenant})
                return None

    async def wait_out(self, problem: TenureError, backoff: Backoff) -> None:
        self.report_outage(problem)
        await asyncio.sleep(backoff.next())

    def report_outage(self, problem: TenureError) -> None:
        """Log the first failure of an outage."""
        if not self._is_away:
            self._is_away = True
            left = self._lease.trusted_until - boottime()
            _log.warning("%s; jobs continue for %.1f s", problem, left)

    def report_answer(self) -> None:
        self.answered_at = time.monotonic()
        if self._is_away:
            self._is_away = False
            _log.info("the database answers again")
