"""Verbs of the catalogue of tasks."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from tenure.store.rollups import TaskRuns
from tenure.store.task_results import KnownTask
from tenure.store.verb import Actor, Int4, verb


@verb(safe=True)
def tasks(name: str | None = None) -> tuple[KnownTask, ...]: ...


@verb(safe=True)
def task_runs(task: str | None = None, n: Int4 = 10_000) -> tuple[TaskRuns, ...]:
    """Count how the newest ``n`` jobs ended, for each task."""


@verb(safe=True)
def announce_tasks(
    tasks: Sequence[Mapping[str, Any]], *, everywhere: bool = False, **actor: Unpack[Actor]
) -> dict[str, Any]: ...
