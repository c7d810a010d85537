"""The answers of the verbs that diagnose a database and its jobs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from tenure.domain.lifecycle import Intent, Rung, State


class LongTransaction(msgspec.Struct, frozen=True):
    seconds: float
    pid: int
    name: str  # of its application, or of its user
    idle: bool  # no statement runs in it


class ServerInfo(msgspec.Struct, frozen=True):
    """State and settings of the PostgreSQL server."""

    version: int  # 180001
    now: datetime  # by the clock of the server
    database: str
    standby: bool
    connections: int  # in all databases
    max_connections: int  # for all but superusers
    fsync: bool
    synchronous_commit: bool
    autovacuum: bool
    oldest: LongTransaction | None  # the transaction that holds back vacuum


class SomeJobs(msgspec.Struct, frozen=True):
    """A number of jobs, and the ids of some of them."""

    jobs: int
    ids: tuple[int, ...]


class Unserved(msgspec.Struct, frozen=True):
    queue: str
    jobs: int
    oldest_seconds: float


class Unrunnable(msgspec.Struct, frozen=True):
    """A task with jobs that no worker can run."""

    task: str
    jobs: int
    announced: bool
    oldest_seconds: float
    nearest: tuple[str, ...]  # the known task with the most similar name, unless announced


class Leak(msgspec.Struct, frozen=True):
    """A job that left resources open."""

    job_id: int
    task: str | None
    owner: str
    ended_at: datetime
    resources: tuple[Any, ...]  # as its cleanup reported them


class EndedJobs(msgspec.Struct, frozen=True):
    jobs: int
    oldest_seconds: float


class TableSize(msgspec.Struct, frozen=True):
    name: str
    rows: int
    dead: int  # rows not vacuumed yet
    bytes: int


class Diagnosis(msgspec.Struct, frozen=True):
    """Problems with the jobs of a tenant, and the sizes of its tables."""

    lost: SomeJobs
    unserved: tuple[Unserved, ...]
    unrunnable: tuple[Unrunnable, ...]
    unclean: SomeJobs
    ended: Mapping[State, EndedJobs]
    tables: tuple[TableSize, ...]


class OpenStop(msgspec.Struct, frozen=True):
    """An unfinished stop."""

    cancellation_id: str
    job_id: int
    task_id: int | None
    intent: Intent
    reason: str
    initiated_by: str
    seconds: float  # since the request
    force: bool
    grace: float | None  # of the stop; None: that of each job
    last_rung: Rung
    status: str
    tasks_open: int
    rung: Rung | None  # the highest that a running job has reached
    graces: tuple[str | None, ...]  # of the running jobs; None: as set for the worker
    last_rungs: tuple[Rung | None, ...]  # the same
