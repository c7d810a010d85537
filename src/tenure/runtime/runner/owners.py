"""The owner of a thread, a process or a callback: an attempt, or the runner itself.

Code runs for the attempt that the context variable ``current`` holds. Pools belong to the runner:
their threads and processes are started in a context of the runner, whichever attempt called them.
"""

import contextvars
from collections.abc import Callable
from typing import Any, Final, TypeVar

from tenure.runtime.runner.attempt import Attempt, current

T = TypeVar("T")


class RunnerOwner:
    """The owner of what serves all attempts."""

    def __repr__(self) -> str:
        return "the runner"


RUNNER: Final = RunnerOwner()
Owner = Attempt | RunnerOwner

_serves_all: contextvars.ContextVar[bool] = contextvars.ContextVar(
    "tenure_serves_all", default=False
)
_context = contextvars.Context()
_context.run(_serves_all.set, True)


def owner() -> Owner | None:
    """Return the owner of what the calling code starts; None if it is unknown."""
    attempt = current.get()
    if attempt is not None:
        return attempt
    return RUNNER if _serves_all.get() else None


def _owner_is_runner() -> bool:
    return _serves_all.get() and current.get() is None


def owner_in(context: contextvars.Context | None) -> Owner | None:
    """Return the owner of code that runs in this context; None if it is unknown."""
    if context is None:
        return None
    attempt = context.get(current)
    if attempt is not None:
        return attempt
    return RUNNER if context.get(_serves_all) else None


def runner_context() -> contextvars.Context:
    """Return a context in which code runs for the runner."""
    return _context.copy()


def as_runner(work: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
    """Call a function so that everything it starts belongs to the runner."""
    return _context.copy().run(work, *args, **kwargs)


def run_as(owner: Owner | None, work: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
    """Call a function on behalf of this owner, in any thread."""
    if isinstance(owner, Attempt):
        return owner.call_in_thread(work, *args, **kwargs)
    if owner is not None:
        return work(*args, **kwargs) if _owner_is_runner() else as_runner(work, *args, **kwargs)
    return contextvars.Context().run(work, *args, **kwargs)


def enter(owner: Owner | None) -> None:
    """Let the calling thread run for this owner from now on."""
    if isinstance(owner, Attempt):
        current.set(owner)
    elif owner is not None:
        _serves_all.set(True)
