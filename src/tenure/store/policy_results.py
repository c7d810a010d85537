"""The answers of the verbs about policies and bulk operations."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import msgspec

from tenure.domain.job import JSON
from tenure.domain.lifecycle import BulkIntent


class Policy(msgspec.Struct, frozen=True):
    """A rule that stops jobs."""

    name: str
    spec: Mapping[str, JSON]
    enabled: bool
    created_at: datetime
    created_by: str
    checked_at: datetime | None  # when it was last enforced
    last_error: str | None  # of that time
    stopped: int


class Enforced(msgspec.Struct, frozen=True):
    policies: int  # checked
    stopped: int
    failed: int
    more: bool  # there are more jobs to stop now
    enabled: int = 1  # of all policies; an older schema does not report it


class BulkPreview(msgspec.Struct, frozen=True):
    """The jobs that a bulk operation would reach."""

    total: int
    by_status: Mapping[str, int]
    reaches: int  # jobs that it would change
    running: int  # of these, jobs whose code runs now
    untouched: int  # jobs whose state does not allow it
    others: int  # jobs of other owners


class Bulk(msgspec.Struct, frozen=True):
    """An operation on many jobs; a bulk stop ends when all stops are requested."""

    id: int
    filter: Mapping[str, JSON]
    intent: BulkIntent
    options: Mapping[str, JSON]
    reason: str | None
    initiated_by: str
    via: str
    created_at: datetime
    total: int  # jobs that it would change, at the time of the request
    done: int
    refused: int  # jobs of other owners
    failed: int
    status: Literal["running", "completed", "partial", "failed"]
    ended_at: datetime | None
    error: str | None  # the last error


class PendingDiscard(msgspec.Struct, frozen=True):
    """A cancelled job whose artifacts must be deleted."""

    job_id: int
    tries: int
    urls: tuple[str, ...]
