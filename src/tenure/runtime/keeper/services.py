"""What a keeper does again and again, beside its jobs. Nobody leads: every worker does it all."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING

from tenure.errors import StoreUnavailable, TenureError
from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.keeper.stirs import Turns
from tenure.store.results import Recovered

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

_log = logging.getLogger("tenure.worker")

_VISITS = 25  # tenants, at most, in which one sweep looks for jobs whose worker never beat


async def every(pause: timedelta, run_once: Callable[[], Awaitable[object]]) -> None:
    """With jitter, so that workers that started together do not go on together."""
    while True:
        await asyncio.sleep(pause.total_seconds() * (0.75 + random.random() / 4))  # noqa: S311
        try:
            await run_once()
        except StoreUnavailable as problem:
            _log.debug("%s", problem)
        except TenureError as problem:
            _log.warning("%s", problem)


async def visit_each(
    keeper: "Keeper", tenants: Iterable[str], visit: Callable[[str], Awaitable[object]]
) -> None:
    """One that cannot be visited holds up nobody; two in a row, and it is the database."""
    failed: StoreUnavailable | None = None
    for tenant in tenants:
        if tenant not in keeper.exchanges:
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


class Recovery:
    """Declares the dead, and takes their jobs back."""

    def __init__(self, keeper: "Keeper") -> None:
        self._keeper = keeper
        self._turns = Turns(keeper.exchanges)

    async def run_once(self) -> None:
        if boottime() >= self._keeper.lease.trusted_until:
            return  # who is late renews first, or it would be the first to declare itself dead
        settings = self._keeper.settings
        found = await self._keeper.shared.sweep(settings.recover_grace)
        for dead in found.dead:
            _log.warning(
                "worker %s (host %s, pid %d) is dead: its last beat was at %s",
                dead.worker_id,
                dead.host,
                dead.pid,
                dead.beat_at,
            )
        await visit_each(
            self._keeper, {*self._turns.next(self._due()), *found.tenants}, self._recover
        )

    def _due(self) -> int:
        """Return how many tenants to visit in any case, for jobs whose worker never beat."""
        tenants = len(self._keeper.exchanges)
        if self._keeper.settings.pending_orphan_after is not None:
            return tenants
        return min(tenants, _VISITS)

    async def _recover(self, tenant: str) -> None:
        settings = self._keeper.settings
        found = await self._keeper.store(tenant).recover(
            grace=settings.recover_grace,
            orphan_after=settings.orphan_after,
            pending_after=settings.pending_orphan_after,
            message=settings.orphan_message,
        )
        for job in found.recovered:
            about = {"tenant": tenant, "job": job.job}
            whose = whose_it_was(job)
            _log.warning("recovered job %d%s: it is %s", job.job, whose, job.state, extra=about)
        if found.recovered and tenant in self._keeper.exchanges:
            self._keeper.exchanges[tenant].promote_soon()


def whose_it_was(job: Recovered) -> str:
    """The dead worker of a job that was recovered, as far as it is known."""
    if job.worker is None:
        return ""
    known = f" (host {job.host}, pid {job.pid}, last beat at {job.beat_at})" if job.host else ""
    return f" of worker {job.worker}{known}"
