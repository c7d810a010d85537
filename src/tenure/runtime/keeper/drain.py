"""Leaving: finish what runs, take nothing new, hand over the rest."""

import asyncio
import logging
from typing import TYPE_CHECKING

from tenure.errors import TenureError

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

_log = logging.getLogger("tenure.worker")

_LOOK_EVERY = 0.05
_SAY_EVERY = 10.0
_HURRIED = 2.0  # seconds for everything, when somebody asked twice
_AFTERWARDS = 5.0  # seconds, at most, to record what was killed at the very end


class Drained(Exception):
    """All is handed over. Left says what had to be stopped, hurried whether it was asked twice."""

    def __init__(self, stopped: int, hurried: bool) -> None:
        super().__init__(f"{stopped} jobs had to be stopped")
        self.stopped = stopped
        self.hurried = hurried


class Drain:
    """Let jobs finish for ``drain_grace``, and then stop the rest.

    A ``drain_limit`` is the time until a platform kills the worker. Jobs then have as much of the
    grace as leaves room for the stops.
    """

    def __init__(self, keeper: "Keeper") -> None:
        self._keeper = keeper
        self._hurry = asyncio.Event()
        self.grace = keeper.settings.drain_grace.total_seconds()

    def ask(self, reason: str) -> None:
        """Ask to leave; asked again it hurries."""
        if self._keeper.draining is None:
            self._keeper.drain(reason)
        elif not self._hurry.is_set():
            _log.warning("hurrying: %s, again", reason)
            self._hurry.set()

    async def serve(self) -> None:
        keeper, loop = self._keeper, asyncio.get_running_loop()
        await keeper.asked_to_drain.wait()
        began = loop.time()
        keeper.start(self._say_so())
        grace, ladder, afterwards = self._times()
        if not await self._finishes(began + grace):
            hurried = self._hurry.is_set()
            ladder = min(ladder, _HURRIED) if hurried else ladder
            stopped = self._stop_all(ladder)
            await self._finishes(loop.time() + ladder + afterwards, patient=not hurried)
            raise Drained(stopped, hurried)
        raise Drained(0, hurried=False)

    def _times(self) -> tuple[float, float, float]:
        """Return the seconds for jobs to finish, for the ladder, and to record what it killed."""
        settings = self._keeper.settings
        ladder = settings.stop_grace.total_seconds()
        if settings.drain_limit is None:
            return self.grace, ladder, _AFTERWARDS
        limit = settings.drain_limit.total_seconds()
        ladder, afterwards = min(ladder, limit / 4), min(_AFTERWARDS, limit / 4)
        return min(self.grace, limit - ladder - afterwards), ladder, afterwards

    async def _finishes(self, until: float, *, patient: bool = True) -> bool:
        """Tell whether all is done by then; a second request ends the patience, if there is any."""
        loop = asyncio.get_running_loop()
        say_at = loop.time() + _SAY_EVERY
        while not self._keeper.is_idle:
            if loop.time() >= until or (patient and self._hurry.is_set()):
                return False
            if loop.time() >= say_at:
                say_at += _SAY_EVERY
                waits = ", ".join(str(run) for run in list(self._keeper.runs)[:10])
                _log.info("draining; waiting for %d: %s", len(self._keeper.runs), waits)
            await asyncio.sleep(_LOOK_EVERY)
        return True

    def _stop_all(self, grace: float) -> int:
        runs = list(self._keeper.runs)
        becomes = "paused" if self._keeper.settings.on_drain == "pause" else "given back"
        _log.warning("draining: %d jobs are stopped and %s", len(runs), becomes)
        for run in runs:
            _log.info("%s is stopped and %s", run, becomes, extra=run.about)
            self._keeper.stops.for_drain(run, grace)
        return len(runs)

    async def _say_so(self) -> None:
        """So that everybody sees it; it is not needed for draining."""
        try:
            await self._keeper.shared.drain(
                self._keeper.id, self._keeper.draining, by="worker", via="worker"
            )
        except TenureError as problem:
            _log.debug("%s", problem)
