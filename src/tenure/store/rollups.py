"""Finished jobs: counts, waiting times and running times."""

from datetime import datetime

import msgspec


class EndCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of finished jobs; times in seconds, None if no job was started."""

    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    wait_p50: float | None = None  # since the jobs were due
    wait_p95: float | None = None
    run_p50: float | None = None  # of the last attempt
    run_p95: float | None = None


class EndCountsAt(EndCounts, frozen=True, kw_only=True):
    """The counts of a time bucket."""

    at: datetime


class QueueEndCounts(EndCounts, frozen=True, kw_only=True):
    """The counts of a queue over the whole time."""

    queue: str


class History(msgspec.Struct, frozen=True):
    """The jobs that finished in the last hours."""

    since: datetime
    until: datetime
    step_seconds: float
    counted_until: datetime | None  # not rolled up yet: from here to the last minutes
    total: EndCounts
    buckets: tuple[EndCountsAt, ...]  # oldest first, including empty ones
    queues: tuple[QueueEndCounts, ...]


class TaskRuns(msgspec.Struct, frozen=True):
    """Counts of the newest jobs of a task, and their run times."""

    task: str
    jobs: int
    completed: int
    failed: int
    cancelled: int
    since: datetime  # when the oldest of them was created
    newest_at: datetime
    runs: tuple[
        tuple[float, int], ...
    ]  # seconds, and the number of jobs that ran for about as long

    @property
    def failure_rate(self) -> float | None:
        """Return the share of jobs that failed, of those that ran to their end."""
        ended = self.completed + self.failed
        return self.failed / ended if ended else None

    def run_time(self, share: float) -> float | None:
        """Return the run time that this share of the jobs did not exceed."""
        left = share * sum(n for _, n in self.runs)
        for seconds, n in self.runs:
            left -= n
            if left <= 0:
                return seconds
        return None


class RolledUp(msgspec.Struct, frozen=True):
    jobs: int
    until: datetime | None  # None while another worker rolls up for the first time
    more: bool
