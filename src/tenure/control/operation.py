"""What is done in several steps, written once for plain code and for async code.

The steps are a generator: it yields a call and is given the answer, or yields a pause.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from tenure.errors import TenureError
from tenure.store.call import Call

T = TypeVar("T")


@dataclass(frozen=True)
class Delay:
    seconds: float


Operation = Generator[Call[Any] | Delay, Any, T]


def single(call: Call[T]) -> Operation[T]:
    """A single step."""
    answer: T = yield call
    return answer


def perform(steps: Operation[T], send: Callable[[Call[Any]], Any]) -> T:
    """Take the steps in plain code."""
    try:
        wanted = next(steps)
        while True:
            if isinstance(wanted, Delay):
                time.sleep(wanted.seconds)
                wanted = next(steps)
                continue
            try:
                answer = send(wanted)
            except TenureError as error:
                wanted = steps.throw(error)
            else:
                wanted = steps.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def aperform(steps: Operation[T], send: Callable[[Call[Any]], Awaitable[Any]]) -> T:
    """Take the steps in async code."""
    try:
        wanted = next(steps)
        while True:
            if isinstance(wanted, Delay):
                await asyncio.sleep(wanted.seconds)
                wanted = next(steps)
                continue
            try:
                answer = await send(wanted)
            except TenureError as error:
                wanted = steps.throw(error)
            else:
                wanted = steps.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
