"""What a keeper does again and again, beside its jobs. Nobody leads: every worker does it all."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING

from tenure.domain.lifecycle import State
from tenure.errors import StoreUnavailable, TenureError
from tenure.runtime.guard.page import boottime

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

_log = logging.getLogger("tenure.worker")

PRUNE_EVERY = timedelta(minutes=10)


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


class Recovery:
    """Declares the dead, and takes their jobs back."""

    def __init__(self, keeper: "Keeper") -> None:
        self._keeper = keeper

    async def run_once(self) -> None:
        if boottime() >= self._keeper.lease.trusted_until:
            return  # who is late renews first, or it would be the first to declare itself dead
        settings = self._keeper.settings
        for store in self._keeper.stores:
            found = await store.recover(
                grace=settings.recover_grace,
                orphan_after=settings.orphan_after,
                pending_after=settings.pending_orphan_after,
                message=settings.orphan_message,
            )
            for dead in found.dead:
                _log.warning(
                    "worker %s (host %s, pid %d) is dead: its last beat was at %s",
                    dead.worker_id,
                    dead.host,
                    dead.pid,
                    dead.beat_at,
                )
            for job in found.recovered:
                whose = f" of worker {job.worker}" if job.worker else ""
                _log.warning("recovered job %d%s: it is %s", job.job, whose, job.state)
            if found.recovered:
                self._keeper.exchanges[store.tenant.name].promote_soon()


class Pruning:
    """Forgets what has been kept long enough."""

    def __init__(self, keeper: "Keeper") -> None:
        self._keeper = keeper

    async def run_once(self) -> None:
        settings = self._keeper.settings
        kept = {
            State.COMPLETED: settings.keep_completed,
            State.FAILED: settings.keep_failed,
            State.CANCELLED: settings.keep_cancelled,
        }
        keep = {state: span for state, span in kept.items() if span is not None}
        for store in self._keeper.stores:
            more = True
            while more:
                more = (await store.prune(keep, keep_events=settings.keep_events)).more
