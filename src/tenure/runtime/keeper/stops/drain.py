"""Draining: finish what runs, take nothing new, hand over the rest."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from tenure.config import Settings
from tenure.errors import TenureError
from tenure.runtime.keeper.background_tasks import BackgroundTasks
from tenure.runtime.keeper.runs.run_table import RunTable
from tenure.runtime.keeper.stops.stops import Stops
from tenure.store.store import AsyncStore

_log = logging.getLogger("tenure.worker")

_CHECK_EVERY = 0.05
_LOG_EVERY = 10.0
_HURRIED = 2.0  # seconds for everything, after a second request
_AFTERWARDS = 5.0  # seconds, at most, to record what was killed at the very end


class Drained(Exception):
    """Everything is handed over: so many jobs had to be stopped; hurried after a second request."""

    def __init__(self, stopped: int, hurried: bool) -> None:
        super().__init__(f"{stopped} jobs had to be stopped")
        self.stopped = stopped
        self.hurried = hurried


class DrainRequest:
    """The first request to drain, if there is one."""

    def __init__(self, runs: RunTable) -> None:
        self.reason: str | None = None
        self.made = asyncio.Event()
        self._runs = runs

    def make(self, reason: str) -> None:
        if self.reason is None:
            self.reason = reason
            _log.info("draining: %s; %d jobs run", reason, len(self._runs))
            self.made.set()


@dataclass(eq=False)
class Drain:
    """Let jobs finish for ``drain_grace``, and then stop the rest.

    A ``drain_limit`` is the time until a platform kills the worker. Jobs then have as much of the
    grace as leaves time for the stops.
    """

    worker: UUID
    settings: Settings
    request: DrainRequest
    runs: RunTable
    stops: Stops
    shared: AsyncStore
    tasks: BackgroundTasks
    is_idle: Callable[[], bool]

    def __post_init__(self) -> None:
        self._hurry = asyncio.Event()
        self.grace = self.settings.drain_grace.total_seconds()

    def ask(self, reason: str) -> None:
        """Drain; after a second request, hurry."""
        if self.request.reason is None:
            self.request.make(reason)
        elif not self._hurry.is_set():
            _log.warning("hurrying: %s, again", reason)
            self._hurry.set()

    async def serve(self) -> None:
        loop = asyncio.get_running_loop()
        await self.request.made.wait()
        began = loop.time()
        self.tasks.start(self._publish())
        grace, ladder, afterwards = drain_times(self.settings, self.grace)
        if not await self._finishes(began + grace):
            hurried = self._hurry.is_set()
            ladder = min(ladder, _HURRIED) if hurried else ladder
            stopped = self._stop_all(ladder)
            await self._finishes(loop.time() + ladder + afterwards, patient=not hurried)
            raise Drained(stopped, hurried)
        raise Drained(0, hurried=False)

    async def _finishes(self, until: float, *, patient: bool = True) -> bool:
        """Return whether all is done by then; a second request ends the wait if it is patient."""
        loop = asyncio.get_running_loop()
        log_at = loop.time() + _LOG_EVERY
        while not self.is_idle():
            if loop.time() >= until or (patient and self._hurry.is_set()):
                return False
            if loop.time() >= log_at:
                log_at += _LOG_EVERY
                waits = ", ".join(str(run) for run in list(self.runs)[:10])
                _log.info("draining; waiting for %d: %s", len(self.runs), waits)
            await asyncio.sleep(_CHECK_EVERY)
        return True

    def _stop_all(self, grace: float) -> int:
        runs = list(self.runs)
        becomes = "paused" if self.settings.on_drain == "pause" else "given back"
        _log.warning("draining: %d jobs are stopped and %s", len(runs), becomes)
        for run in runs:
            _log.info("%s is stopped and %s", run, becomes, extra=run.about)
            self.stops.for_drain(run, grace)
        return len(runs)

    async def _publish(self) -> None:
        """Show users that it drains; the drain does not depend on it."""
        try:
            await self.shared.drain(self.worker, self.request.reason, by="worker", via="worker")
        except TenureError as problem:
            _log.debug("%s", problem)


def drain_times(settings: Settings, grace: float) -> tuple[float, float, float]:
    """Return the seconds for jobs to finish, for the ladder, and to record what it killed."""
    ladder = settings.stop_grace.total_seconds()
    if settings.drain_limit is None:
        return grace, ladder, _AFTERWARDS
    limit = settings.drain_limit.total_seconds()
    ladder, afterwards = min(ladder, limit / 4), min(_AFTERWARDS, limit / 4)
    return min(grace, limit - ladder - afterwards), ladder, afterwards
