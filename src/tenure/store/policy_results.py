"""What the verbs answer about policies and bulk operations, as frozen values."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import msgspec

from tenure.domain.job import JSON
from tenure.domain.lifecycle import BulkIntent


class Policy(msgspec.Struct, frozen=True):
    """A rule by which jobs are stopped."""

    name: str
    spec: Mapping[str, JSON]
    enabled: bool
    created_at: datetime
    created_by: str
    checked_at: datetime | None  # when somebody last looked for what it reaches
    last_error: str | None  # of that look
    stopped: int


class Enforced(msgspec.Struct, frozen=True):
    policies: int  # looked at
    stopped: int
    failed: int
    more: bool  # there is more to stop at once
    enabled: int = 1  # of all there are; a schema from before does not say


class BulkPreview(msgspec.Struct, frozen=True):
    """What a bulk operation would reach."""

    total: int
    by_status: Mapping[str, int]
    reaches: int  # it would change these
    running: int  # of these, those whose code runs now
    untouched: int  # their state does not allow it
    others: int  # they belong to somebody else


class Bulk(msgspec.Struct, frozen=True):
    """One operation on many jobs; a stop is over when all were asked to stop, not when all have."""

    id: int
    filter: Mapping[str, JSON]
    intent: BulkIntent
    options: Mapping[str, JSON]
    reason: str | None
    initiated_by: str
    via: str
    created_at: datetime
    total: int  # that it would change, when it was asked for
    done: int
    refused: int  # they belong to somebody else
    failed: int
    status: Literal["running", "completed", "partial", "failed"]
    ended_at: datetime | None
    error: str | None  # the last one


class PendingDiscard(msgspec.Struct, frozen=True):
    """A cancelled job whose artifacts are to be deleted."""

    job_id: int
    tries: int
    urls: tuple[str, ...]
