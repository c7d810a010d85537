"""Re-export names without importing their modules until they are used."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(
    module: str, homes: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], tuple[str, ...]]:
    """Return a ``__getattr__`` and an ``__all__`` for a module that re-exports these names.

    A keeper or a runner needs few of the names, and starts sooner without the rest.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(import_module(home_of[name]), name)

    return get, tuple(sorted(home_of))
