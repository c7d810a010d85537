"""Answers of the verbs that read a job with those around it."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from tenure.domain.job import JSON
from tenure.domain.lifecycle import Reason, State, Status


class FamilyMember(msgspec.Struct, frozen=True):
    """A descendant of a job, with what a timeline shows of it."""

    id: int
    parent_id: int
    depth: int  # 1: a child
    task: str | None
    key: str | None
    status: Status
    state: State
    waiting: Reason | None
    args: str | None  # as one short line
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    attempt: int
    error: str | None
    attempts: tuple[Mapping[str, JSON], ...]
    children: int  # 1,000 at most


class Family(msgspec.Struct, frozen=True):
    """A page of the descendants of a job within a time, and counts of all its children."""

    since: datetime
    until: datetime
    first: datetime  # when the job was created
    last: datetime  # when the last of them ended; now, if they have not ended
    counts: Mapping[State, int]
    # Of the time, from 1 to 100: how many children started, ended and failed in each part.
    # Part 0 is before the time.
    spread: tuple[tuple[int, int, int, int], ...]
    ancestors: tuple[int, ...]  # from the root
    members: tuple[FamilyMember, ...]


class RelatedJob(msgspec.Struct, frozen=True):
    id: int
    task: str | None
    key: str | None
    status: Status
    args: str | None


class Dependency(msgspec.Struct, frozen=True):
    """A job, and a job that it comes after."""

    job_id: int
    needs_id: int
    policy: str


class Dependencies(msgspec.Struct, frozen=True):
    edges: tuple[Dependency, ...]
    needs: int  # how many jobs it comes directly after
    needed_by: int
    jobs: tuple[RelatedJob, ...]
