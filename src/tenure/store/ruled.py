"""What the verbs answer about policies and bulk stops, as frozen values."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import msgspec

from tenure.domain.job import JSON
from tenure.domain.lifecycle import Intent


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
    """What a bulk stop would reach."""

    total: int
    by_status: Mapping[str, int]
    stops: int  # it would stop these
    untouched: int  # their state does not allow it
    others: int  # they belong to somebody else


class Bulk(msgspec.Struct, frozen=True):
    """A stop of many jobs; it is over when every one was asked to stop, not when all have."""

    id: int
    filter: Mapping[str, JSON]
    intent: Intent
    options: Mapping[str, JSON]
    reason: str | None
    initiated_by: str
    via: str
    created_at: datetime
    total: int  # to be stopped, when it was asked for
    done: int
    refused: int  # they belong to somebody else
    failed: int
    status: Literal["running", "completed", "partial", "failed"]
    ended_at: datetime | None
    error: str | None  # the last one


class Discard(msgspec.Struct, frozen=True):
    """A cancelled job whose artifacts are to be deleted."""

    job_id: int
    tries: int
    urls: tuple[str, ...]
