"""A process that the code of a job forked.

It is a copy of the runner down to the wire, but it is not the runner: it speaks to nobody, leaves
the shared memory alone, and ends where the code of the job does.
"""

import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from tenure.errors import InputRefused

T = TypeVar("T")

in_child = False


def watch(wire: int) -> None:
    """From now on, whoever is forked from this process knows it, and has no wire."""

    def become_child() -> None:
        global in_child
        in_child = True
        # Its number stays taken: whoever still holds it must not reach another file by it.
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, wire, inheritable=False)
        os.close(nowhere)

    os.register_at_fork(after_in_child=become_child)


def refuse() -> NoReturn:
    raise InputRefused("this process was forked by a job; only the job itself can speak for it")


def leave() -> NoReturn:
    """The end of a child, where the runner would go on."""
    match error := sys.exception():
        case None | StopIteration():
            code = 1
        case SystemExit():
            code = _code_of(error)
        case _:
            code = 1
            # Not by way of sys.stderr: a lock of it may be held by a thread that is not here.
            os.write(2, "".join(traceback.format_exception(error)).encode(errors="replace"))
    os._exit(code)


def _code_of(error: SystemExit) -> int:
    """As Python itself has it, for a child that knows how it wants to end."""
    if error.code is None:
        return 0
    return error.code & 0xFF if isinstance(error.code, int) else 1


def leaving(work: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
    """Do this work; a child that comes out of it ends here."""
    try:
        return work(*args, **kwargs)
    finally:
        if in_child:
            leave()
