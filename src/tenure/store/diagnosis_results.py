"""What is found by whoever looks after a database and its jobs, as frozen values."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from tenure.domain.lifecycle import Intent, Rung, State


class LongTransaction(msgspec.Struct, frozen=True):
    seconds: float
    pid: int
    name: str  # of its program, else of its user
    idle: bool  # nobody is at work in it


class ServerInfo(msgspec.Struct, frozen=True):
    """What PostgreSQL says of itself."""

    version: int  # 180001
    now: datetime  # by its own clock
    database: str
    standby: bool
    connections: int  # in all databases
    max_connections: int  # for all but superusers
    fsync: bool
    synchronous_commit: bool
    autovacuum: bool
    oldest: LongTransaction | None  # what holds vacuum back for the longest


class Some(msgspec.Struct, frozen=True):
    """How many jobs, and which are a few of them."""

    jobs: int
    ids: tuple[int, ...]


class Unserved(msgspec.Struct, frozen=True):
    queue: str
    jobs: int
    oldest_seconds: float


class Unrunnable(msgspec.Struct, frozen=True):
    """A task with jobs that nobody can run."""

    task: str
    jobs: int
    announced: bool
    oldest_seconds: float
    nearest: tuple[str, ...]  # the known task whose name is most like it, if nobody announced it


class Ended(msgspec.Struct, frozen=True):
    jobs: int
    oldest_seconds: float


class Size(msgspec.Struct, frozen=True):
    name: str
    rows: int
    dead: int  # rows that wait for vacuum
    bytes: int


class Diagnosis(msgspec.Struct, frozen=True):
    """What is not as it should be with a tenant's jobs, and how much its tables hold."""

    lost: Some
    unserved: tuple[Unserved, ...]
    unrunnable: tuple[Unrunnable, ...]
    unclean: Some
    ended: Mapping[State, Ended]
    tables: tuple[Size, ...]


class OpenStop(msgspec.Struct, frozen=True):
    """A stop that goes on."""

    cancellation_id: str
    job_id: int
    task_id: int | None
    intent: Intent
    reason: str
    initiated_by: str
    seconds: float  # since it was asked for
    force: bool
    grace: float | None  # of the stop; none: each job's own
    last_rung: Rung
    status: str
    tasks_open: int
    rung: Rung | None  # the highest that what still runs has reached
    graces: tuple[str | None, ...]  # of what still runs; none: as its worker's settings say
    last_rungs: tuple[Rung | None, ...]  # likewise
