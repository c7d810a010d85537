"""The answer of the verb that reads jobs for a list."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from tenure.domain.job import JSON
from tenure.domain.lifecycle import Reason, State, Status

MAX_CHILDREN = 1000  # that are counted; one more stands for all others


class JobRow(msgspec.Struct, frozen=True, kw_only=True):
    """A job as a list shows it."""

    id: int
    root_id: int
    parent_id: int | None
    key: str | None
    task: str | None
    queue: str
    status: Status
    state: State
    waiting: Reason | None
    target: str | None
    run_at: datetime | None
    owner: str
    tags: tuple[str, ...] | None
    attempt: int
    max_attempts: int
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    pause_reason: str | None
    cancellation_reason: str | None
    error_message: str | None
    progress: JSON
    args: JSON  # without secrets; none if they are large
    children: Mapping[State, int] | None  # their number by state


class JobRows(msgspec.Struct, frozen=True):
    """A page of a list, with the children of the jobs whose children are shown."""

    ids: tuple[int, ...]  # of the page, newest first
    rows: tuple[JobRow, ...]
