"""Verbs of the catalogue of tasks."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from tenure.store.results import KnownTask
from tenure.store.verb import Actor, verb


@verb(safe=True)
def tasks(name: str | None = None) -> tuple[KnownTask, ...]: ...


@verb(safe=True)
def announce_tasks(
    tasks: Sequence[Mapping[str, Any]], *, everywhere: bool = False, **actor: Unpack[Actor]
) -> dict[str, Any]: ...
