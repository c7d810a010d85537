"""Verbs of the catalogue of tasks, and a task as they answer."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Unpack

import msgspec

from tenure.domain.job import JSON
from tenure.store.rollups import TaskRuns
from tenure.store.verb import Actor, Int4, verb


class Serving(msgspec.Struct, frozen=True):
    digest: str
    workers: int


class KnownTask(msgspec.Struct, frozen=True):
    """A task as last announced."""

    name: str
    digest: str
    executor: str
    doc: str | None
    schema: Mapping[str, JSON] | None  # of its arguments; None: not described
    options: Mapping[str, JSON]  # declared defaults of the fields of its jobs
    target: str | None
    unique: str | None
    limits: tuple[str, ...]
    compensate: str | None
    everywhere: bool  # announced for all tenants
    first_announced_at: datetime
    announced_at: datetime
    serving: tuple[Serving, ...]  # the versions that live workers have


@verb(safe=True)
def tasks(name: str | None = None) -> tuple[KnownTask, ...]: ...


@verb(safe=True)
def task_runs(task: str | None = None, n: Int4 = 10_000) -> tuple[TaskRuns, ...]:
    """Count how the newest ``n`` jobs ended, for each task."""


@verb(safe=True)
def announce_tasks(
    tasks: Sequence[Mapping[str, Any]], *, everywhere: bool = False, **actor: Unpack[Actor]
) -> dict[str, Any]: ...
