"""Drive a generator that yields what it wants and receives the answer, in sync or async code.

Work of several steps is written once as such a generator. Who drives it decides what an answer is:
that of a database, of the keeper, of a test.
"""

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

W = TypeVar("W")
T = TypeVar("T")


def drive(work: Generator[W, Any, T], answer: Callable[[W], Any]) -> T:
    """Answer what the work wants until it returns; an error of the answer is raised in it."""
    try:
        wanted = next(work)
        while True:
            try:
                value = answer(wanted)
            except BaseException as error:  # noqa: BLE001 - the work decides what it means
                wanted = work.throw(error)
            else:
                wanted = work.send(value)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def adrive(work: Generator[W, Any, T], answer: Callable[[W], Awaitable[Any]]) -> T:
    """Async version of ``drive``."""
    try:
        wanted = next(work)
        while True:
            try:
                value = await answer(wanted)
            except BaseException as error:  # noqa: BLE001 - the work decides what it means
                wanted = work.throw(error)
            else:
                wanted = work.send(value)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
