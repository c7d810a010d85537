"""Enqueue what is scheduled. Every worker does, and the key of each time lets only one succeed."""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tenure.errors import StoreUnavailable, TenureError
from tenure.runtime.keeper.database.backoff import Backoff
from tenure.runtime.keeper.database.clock import DatabaseClock
from tenure.store.store import AsyncStore

if TYPE_CHECKING:
    from tenure.control.schedule import Schedule

_log = logging.getLogger("tenure.worker")
_LONGEST_SLEEP = 30.0  # clocks are set, and machines sleep


class ScheduleService:
    def __init__(
        self,
        announced: Sequence[Mapping[str, Any]],
        clock: DatabaseClock,
        served: Collection[str],
        store: Callable[[str], AsyncStore],
    ) -> None:
        # Here and not above: it imports pydantic, which a keeper without schedules does not need.
        from tenure.control.schedule import Schedule

        self._clock = clock
        self._served = served
        self._store = store
        self._backoff = Backoff()
        self._next: list[tuple[datetime, Schedule]] = []
        now = clock.now()
        for announcement in announced:
            schedule = Schedule.from_announcement(announcement)
            # Includes times at which no worker ran; the key tells which were enqueued.
            self._next.append((schedule.next_after(now - schedule.catch_up), schedule))

    async def serve(self) -> None:
        while self._next:
            behind = await self.run_once()
            first = min(due for due, _ in self._next)
            left = (first - self._clock.now()).total_seconds()
            if behind:
                left = self._backoff.next()
            else:
                self._backoff.reset()
            await asyncio.sleep(min(max(left, 0.01), _LONGEST_SLEEP))

    async def run_once(self) -> bool:
        """Enqueue what is due by the database's clock; return whether some has to be retried."""
        now, behind = self._clock.now(), False
        for place, (due, schedule) in enumerate(self._next):
            if due > now:
                continue
            try:
                await self._fire(schedule, due)
            except StoreUnavailable:
                if now - due < schedule.catch_up:
                    behind = True
                    continue
                _log.error("schedule %s missed %s: the database is unavailable", schedule.name, due)
            except TenureError as problem:
                _log.error("schedule %s: %s", schedule.name, problem)
            self._next[place] = (schedule.next_after(due), schedule)
        return behind

    async def _fire(self, schedule: "Schedule", due: datetime) -> None:
        if schedule.tenant not in self._served:
            return
        found = await self._store(schedule.tenant).enqueue_reserved(
            schedule.due(due),
            idempotency=schedule.key_of(due),
            unique=schedule.unique_key,
            by=f"schedule:{schedule.name}",
            via="worker",
        )
        for made in found:  # none while the schedule is paused
            if made.created:
                about = {"tenant": schedule.tenant, "job": made.id}
                _log.info("schedule %s: job %d for %s", schedule.name, made.id, due, extra=about)
