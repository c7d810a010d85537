"""A process that the code of a job forked.

It is a copy of the runner, but it is not the runner: it sends nothing to the keeper, leaves the
shared memory alone, and ends where the code of the job ends.
"""

import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from tenure.errors import InputRefused

T = TypeVar("T")

in_child = False
makes_runner = False  # what is forked now is a runner, not a process of a job


def watch(wire: int) -> None:
    """Let every process that is forked from now on know that it is a child, and have no wire."""

    def become_child() -> None:
        global in_child
        if makes_runner:
            return
        in_child = True
        # The descriptor stays open: code that still uses it must not reach another file.
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, wire, inheritable=False)
        os.close(nowhere)

    os.register_at_fork(after_in_child=become_child)


def refuse() -> NoReturn:
    raise InputRefused(
        "this process was forked by a job; only the job's own process can use its context"
    )


def leave() -> NoReturn:
    """End a forked child where the runner would continue."""
    match error := sys.exception():
        case None | StopIteration():
            code = 1
        case SystemExit():
            code = _code_of(error)
        case _:
            code = 1
            # Not through sys.stderr: a thread that does not exist here may hold its lock.
            os.write(2, "".join(traceback.format_exception(error)).encode(errors="replace"))
    os._exit(code)


def _code_of(error: SystemExit) -> int:
    """Return the exit code that Python would use."""
    if error.code is None:
        return 0
    return error.code & 0xFF if isinstance(error.code, int) else 1


def leaving(work: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
    """Call a function; a child that was forked in it ends here."""
    try:
        return work(*args, **kwargs)
    finally:
        if in_child:
            leave()
