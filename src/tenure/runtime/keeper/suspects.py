"""Find the job that kills its worker, and charge nobody who was there by chance.

A suspect is a job that was there when its runner or its whole worker died, and nobody knows whose
fault that was. Its level is the number of those deaths for which it was not charged:

1. It comes back at once, in a runner of its own as long as there are not too many of them. It is
   charged if its worker dies and no other suspect is there.
2. Suspects of this level start 30 s apart on each worker. The one in its first 30 s is charged.
3. No other suspect of level 2 or more runs on its worker. It is charged whenever its worker dies.
"""

import asyncio
import random
from collections.abc import Iterable

from tenure.runtime.keeper.run import Run
from tenure.store.results import Claimed

PROBATION = 30.0  # seconds; orphaned_jobs.sql says the same of workers that are dead
AT_ONCE = 20  # suspects that have a process of their own at the same time
SHORTEST_DELAY = 1.0  # seconds until a suspect that is put off may be claimed again
LONGEST_DELAY = 30.0
_STEP = 0.2  # seconds that each further suspect adds to the delay


def level_of(job: Claimed) -> int:
    """Return at how many deaths a job was there without being charged; 0 if it is no suspect.

    Each charge counts as a crash and as an attempt, each unspent release as a crash alone.
    """
    return max(job.crashes - job.attempt + 1, 1) if job.alone else 0


def has_room_alone(running: Iterable[Run]) -> bool:
    """Tell whether one more job may have a process of its own for being a suspect."""
    return sum(run.alone for run in running) < AT_ONCE


def to_blame(running: Iterable[Run], now: float) -> Run | None:
    """Return the run that is charged with the death of the worker; None if that is not clear."""
    suspects = [run for run in running if run.job.alone and run.started_at is not None]
    if len(suspects) == 1:
        return suspects[0]
    certain = [run for run in suspects if level_of(run.job) > 2] or [
        run for run in suspects if level_of(run.job) == 2 and _is_on_probation(run, now)
    ]
    return certain[0] if len(certain) == 1 else None


class Suspects:
    """Decides which suspects of a worker may start, of all tenants and kinds together."""

    def __init__(self) -> None:
        self._put_off = 0  # since the last suspect started

    def delay(self, job: Claimed, running: Iterable[Run]) -> float:
        """Return for how many seconds a suspect is put off; 0 if it starts now.

        The delay is short, so that an idle worker elsewhere gets it soon, and grows with the number
        of those that wait, so that they are not claimed and put off all the time.
        """
        others = [run for run in running if level_of(run.job) >= 2]
        if _may_start(level_of(job), others):
            self._put_off = 0
            return 0.0
        self._put_off += 1
        spread = min(self._put_off * _STEP, LONGEST_DELAY - SHORTEST_DELAY)
        return SHORTEST_DELAY + spread * random.random()  # noqa: S311


def _may_start(level: int, others: list[Run]) -> bool:
    """Tell whether a suspect may start beside these, which are all of level 2 or more."""
    if level < 2:
        return True
    if level > 2:
        return not others
    now = asyncio.get_running_loop().time()
    strict = [run for run in others if level_of(run.job) > 2 or _is_on_probation(run, now)]
    return not strict and has_room_alone(others)


def _is_on_probation(run: Run, now: float) -> bool:
    """Tell whether a suspect is in its first 30 s, or about to begin."""
    return run.started_at is None or now - run.started_at < PROBATION
