"""The catalogue of tasks."""

from collections.abc import Mapping, Sequence
from typing import Any

from tenure.store.call import Argument, Call
from tenure.store.calls.arguments import actor
from tenure.store.new_jobs import as_json
from tenure.store.reading import answer
from tenure.store.results import KnownTask


def tasks(name: str | None = None) -> Call[tuple[KnownTask, ...]]:
    return Call("tasks", {"name": Argument(name, "text")}, answer(tuple[KnownTask, ...]), safe=True)


def announce_tasks(
    tasks: Sequence[Mapping[str, Any]],
    *,
    everywhere: bool = False,
    by: str | None = None,
    via: str = "python",
) -> Call[dict[str, Any]]:
    return Call(
        "announce_tasks",
        {
            "tasks": Argument(as_json(tasks), "jsonb"),
            "everywhere": Argument(everywhere, "bool"),
            **actor(by, via),
        },
        answer(dict[str, Any]),
        safe=True,
    )
