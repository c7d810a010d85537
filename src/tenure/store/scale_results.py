"""The answer of scale: workers wanted by the work of a tenant."""

from typing import Literal
from uuid import UUID

import msgspec


class QueuedWork(msgspec.Struct, frozen=True):
    """The ready and running jobs of a queue and task, and what they fill."""

    queue: str
    task: str
    kind: Literal["async", "process", "thread"]
    ready: int
    startable: int  # of the ready ones, those that a worker could start now
    running: int  # except on workers that drain
    oldest_seconds: float  # how long a ready job has waited
    run_seconds: float | None  # of one job, as measured; None: nothing is known yet
    slots: float
    capacity: float | None  # slots of a worker; None: none has served the queue yet
    workers: float
    held_back: str | None  # why not all ready jobs could start


class DrainCandidate(msgspec.Struct, frozen=True):
    """A live worker; the jobs are those of this tenant."""

    id: UUID
    host: str
    jobs: int
    shared: bool  # it serves other queues, tasks or tenants too
    sentence: str


class Scale(msgspec.Struct, frozen=True):
    wanted: int
    alive: int  # workers that do not drain
    surplus: int  # of these, not wanted: the first of the drain order that are not shared
    exact: float  # the workers wanted, as a fraction, without minimum and maximum
    sentence: str
    work: tuple[QueuedWork, ...]
    drain_order: tuple[DrainCandidate, ...]
