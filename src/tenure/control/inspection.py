"""Inspection of a running job: ask its worker, and wait for the answer."""

import time

from tenure.control.job_operations import FIRST_PAUSE, LONGEST_PAUSE
from tenure.control.operation import Delay, Operation
from tenure.domain.duration import Duration, duration, in_words
from tenure.domain.inspection import Inspection
from tenure.domain.job import Job
from tenure.errors import IllegalTransition, NotAnswered
from tenure.store.calls import control_calls, queries

PATIENCE = "5s"  # a worker that receives the request answers within two


def inspect(
    job: int, timeout: Duration = PATIENCE, *, by: str | None = None
) -> Operation[Inspection]:
    """Return what its worker sees; raise NotAnswered after the timeout."""
    limit = duration(timeout)
    until, pause = time.monotonic() + limit.total_seconds(), FIRST_PAUSE
    asked: Inspection = yield control_calls.inspect(job, by=by)
    while True:
        seen: Inspection | None = yield queries.inspection(job, by=by)
        if seen is None:
            now: Job = yield queries.show(job)
            raise IllegalTransition(f"the attempt has ended meanwhile; job {job} is {now.status}")
        if seen.answered_at is not None and seen.id >= asked.id:
            return seen
        left = until - time.monotonic()
        if left <= 0:
            raise NotAnswered(
                f"the worker of job {job} has not answered within {in_words(limit)}; it may be "
                f"unreachable or frozen; a late answer is kept"
            )
        yield Delay(min(pause, left))
        pause = min(pause * 1.5, LONGEST_PAUSE)
