"""Recovery: declare dead workers dead and take their jobs back. Every worker does it."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from tenure.config import Settings
from tenure.errors import StoreUnavailable, TenureError
from tenure.runtime.keeper.database.access import DatabaseAccess
from tenure.runtime.keeper.database.activity import RoundRobin
from tenure.runtime.keeper.database.exchange import Exchange
from tenure.runtime.keeper.database.lease import Lease
from tenure.store.upkeep_results import Recovered

_log = logging.getLogger("tenure.worker")

_VISITS = 25  # tenants, at most, in which a sweep looks for jobs whose worker never beat


async def every(pause: timedelta, run_once: Callable[[], Awaitable[object]]) -> None:
    """Repeat a call, with jitter, so that workers that started together drift apart."""
    while True:
        await asyncio.sleep(pause.total_seconds() * (0.75 + random.random() / 4))  # noqa: S311
        try:
            await run_once()
        except StoreUnavailable as problem:
            _log.debug("%s", problem)
        except TenureError as problem:
            _log.warning("%s", problem)


async def visit_each(
    tenants: Iterable[str], served: Collection[str], visit: Callable[[str], Awaitable[object]]
) -> None:
    """Visit those of the tenants that are served.

    A tenant that cannot be visited does not hold up the others; after two in a row it is the
    database.
    """
    failed: StoreUnavailable | None = None
    for tenant in tenants:
        if tenant not in served:
            continue
        try:
            await visit(tenant)
        except StoreUnavailable as problem:
            if failed is not None:
                raise
            failed = problem
            _log.debug("%s", problem, extra={"tenant": tenant})
        except TenureError as problem:
            _log.warning("%s", problem, extra={"tenant": tenant})
        else:
            failed = None


@dataclass(eq=False)
class RecoveryService:
    settings: Settings
    lease: Lease
    database: DatabaseAccess
    exchanges: Mapping[str, Exchange]

    def __post_init__(self) -> None:
        self._turns = RoundRobin(self.exchanges)

    async def run_once(self) -> None:
        if not self.lease.is_current:
            return  # a late worker renews first, or it would be the first to declare itself dead
        found = await self.database.shared.sweep(self.settings.recover_grace)
        for dead in found.dead:
            _log.warning(
                "worker %s (host %s, pid %d) is dead: its last beat was at %s",
                dead.worker_id,
                dead.host,
                dead.pid,
                dead.beat_at,
            )
        tenants = {*self._turns.next(self._due()), *found.tenants}
        await visit_each(tenants, self.exchanges, self._recover)

    def _due(self) -> int:
        """Return how many tenants to visit in any case, for jobs whose worker never beat."""
        tenants = len(self.exchanges)
        if self.settings.pending_orphan_after is not None:
            return tenants
        return min(tenants, _VISITS)

    async def _recover(self, tenant: str) -> None:
        found = await self.database.store(tenant).recover(
            grace=self.settings.recover_grace,
            orphan_after=self.settings.orphan_after,
            pending_after=self.settings.pending_orphan_after,
            message=self.settings.orphan_message,
        )
        for job in found.recovered:
            about = {"tenant": tenant, "job": job.job}
            whose = describe_former_worker(job)
            _log.warning("recovered job %d%s: it is %s", job.job, whose, job.state, extra=about)
        if found.recovered and tenant in self.exchanges:
            self.exchanges[tenant].promote_soon()


def describe_former_worker(job: Recovered) -> str:
    """Describe the dead worker of a recovered job, as far as it is known."""
    if job.worker is None:
        return ""
    known = f" (host {job.host}, pid {job.pid}, last beat at {job.beat_at})" if job.host else ""
    return f" of worker {job.worker}{known}"
