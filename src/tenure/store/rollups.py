"""What became of jobs in the last day: counts, and how long they waited and ran."""

from datetime import datetime

import msgspec


class EndCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs that ended; times in seconds, none where no job was started."""

    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    wait_p50: float | None = None  # since they were due
    wait_p95: float | None = None
    run_p50: float | None = None  # their last attempt
    run_p95: float | None = None


class EndCountsAt(EndCounts, frozen=True, kw_only=True):
    """Those of one bucket of time."""

    at: datetime


class QueueEndCounts(EndCounts, frozen=True, kw_only=True):
    """Those of one queue, over the whole time."""

    queue: str


class History(msgspec.Struct, frozen=True):
    """What ended in the last hours."""

    since: datetime
    until: datetime
    step_seconds: float
    counted_until: datetime | None  # what is between then and the last minutes is not known yet
    total: EndCounts
    buckets: tuple[EndCountsAt, ...]  # oldest first, those without an end as well
    queues: tuple[QueueEndCounts, ...]


class RolledUp(msgspec.Struct, frozen=True):
    jobs: int
    until: datetime | None  # none: somebody else counts just now, for the first time
    more: bool
