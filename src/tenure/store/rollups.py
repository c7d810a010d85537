"""Finished jobs of the last day: counts, waiting times and running times."""

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


class RolledUp(msgspec.Struct, frozen=True):
    jobs: int
    until: datetime | None  # None while another worker rolls up for the first time
    more: bool
