"""The catalogue: every kind of code, where it can run, and what it leaves."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tests.apps.hostile.beats import Here

Executor = Literal["async", "thread", "process", "command"]
Group = Literal[
    "processes", "threads", "loop", "hooks", "lies", "stubborn", "poison", "state", "limits"
]

EVERYWHERE: tuple[Executor, ...] = ("async", "thread", "process", "command")
IN_PYTHON: tuple[Executor, ...] = ("async", "thread", "process")

KEPT: list[Any] = []  # what would end when nobody refers to it any more


@dataclass(frozen=True)
class Kind:
    name: str
    group: Group
    description: str
    code: Callable[[Here], Any]
    executors: tuple[Executor, ...]
    beats: bool  # something of it appends to its file while it is alive
    attributed: bool  # known to be the job's own: its neighbours are not released for it
    spoils: bool  # the code of its neighbours cannot work any more, and may be charged
    stays: bool  # its code returns, so that the job can wait for a stop
    named: bool  # a warning in the job's log says that this was left when the job completed


KINDS: dict[str, Kind] = {}


def kind(
    group: Group,
    executors: tuple[Executor, ...],
    *,
    beats: bool = True,
    attributed: bool = False,
    spoils: bool = False,
    stays: bool = True,
    named: bool = False,
) -> Callable[[Callable[[Here], Any]], Callable[[Here], Any]]:
    """Add a function to the catalogue; the first line of its docstring describes the kind."""

    def add(code: Callable[[Here], Any]) -> Callable[[Here], Any]:
        assert code.__doc__, f"{code.__name__} needs a line that describes it"
        name = code.__name__
        assert name not in KINDS, f"there are two kinds {name}"
        description = code.__doc__.splitlines()[0]
        KINDS[name] = Kind(
            name, group, description, code, executors, beats, attributed, spoils, stays, named
        )
        return code

    return add


def all_kinds() -> Mapping[str, Kind]:
    """Return every kind by name; imports the modules that define them."""
    from tests.apps.hostile import hooks, lies, loop, poison, processes, stubborn, threads

    del hooks, lies, loop, poison, processes, stubborn, threads
    return KINDS
