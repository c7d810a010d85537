"""Start suspects one after another, so that the death of a worker shows which of them causes it.

A suspect is a job that was there when its runner or its whole worker died, and nobody knows whose
fault that was. It runs in a runner of its own, and for its first 30 s no other suspect starts on
this worker. If the worker dies then, this job is charged: it spends an attempt.

A job that strikes later than that is there at a second death with nobody to charge. From then on
no other suspect runs on its worker at all, so that a third death is certainly its own.
"""

import asyncio
import random
from collections.abc import Iterable

from tenure.runtime.keeper.run import Run
from tenure.store.results import Claimed

PROBATION = 30.0  # seconds; orphans.sql says the same of workers that are dead
AT_ONCE = 20  # suspects that a worker runs at the same time: each has a process of its own
SHORTEST_DELAY = 1.0  # seconds until a suspect that is put off may be claimed again
LONGEST_DELAY = 30.0
_STEP = 0.2  # seconds that each further suspect adds to the delay


def must_be_the_only_one(job: Claimed) -> bool:
    """Return whether the job was there at two deaths or more for which nobody was charged.

    Each charge counts as a crash and as an attempt, each unspent release as a crash alone.
    """
    return job.crashes > job.attempt


def is_on_probation(run: Run, now: float) -> bool:
    """Return whether a suspect is in its first 30 s, or about to begin."""
    return run.started_at is None or now - run.started_at < PROBATION


def is_to_blame(run: Run, now: float) -> bool:
    """Return whether the death of the worker is charged to this run."""
    return run.job.alone and (must_be_the_only_one(run.job) or is_on_probation(run, now))


class Suspects:
    """Decides which suspects of a worker may start, of all tenants and kinds together."""

    def __init__(self) -> None:
        self._put_off = 0  # since the last suspect started

    def delay(self, job: Claimed, running: Iterable[Run]) -> float:
        """Return for how many seconds a suspect is put off; 0 if it starts now.

        The delay is short, so that an idle worker elsewhere gets it soon, and grows with the number
        of those that wait, so that they are not claimed and put off all the time.
        """
        others = [run for run in running if run.job.alone]
        if self._may_start(job, others):
            self._put_off = 0
            return 0.0
        self._put_off += 1
        spread = min(self._put_off * _STEP, LONGEST_DELAY - SHORTEST_DELAY)
        return SHORTEST_DELAY + spread * random.random()  # noqa: S311

    def _may_start(self, job: Claimed, others: list[Run]) -> bool:
        if must_be_the_only_one(job):
            return not others
        now = asyncio.get_running_loop().time()
        return len(others) < AT_ONCE and not any(is_to_blame(run, now) for run in others)
