"""Operations of several calls, written once for sync and async code.

An operation is a generator: it yields a call and receives the answer, or yields a delay.
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
    """Return the operation of a single call."""
    answer: T = yield call
    return answer


def perform(operation: Operation[T], send: Callable[[Call[Any]], Any]) -> T:
    """Perform an operation in sync code."""
    try:
        wanted = next(operation)
        while True:
            if isinstance(wanted, Delay):
                time.sleep(wanted.seconds)
                wanted = next(operation)
                continue
            try:
                answer = send(wanted)
            except TenureError as error:
                wanted = operation.throw(error)
            else:
                wanted = operation.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def aperform(operation: Operation[T], send: Callable[[Call[Any]], Awaitable[Any]]) -> T:
    """Perform an operation in async code."""
    try:
        wanted = next(operation)
        while True:
            if isinstance(wanted, Delay):
                await asyncio.sleep(wanted.seconds)
                wanted = next(operation)
                continue
            try:
                answer = await send(wanted)
            except TenureError as error:
                wanted = operation.throw(error)
            else:
                wanted = operation.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
