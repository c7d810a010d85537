"""Operations of several calls, written once for sync and async code.

An operation is a generator: it yields a call and receives the answer, or yields a delay.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from tenure.domain.generators import adrive, drive
from tenure.store.call import Call

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Delay:
    seconds: float


Operation = Generator[Call[Any] | Delay, Any, T]


def single(call: Call[T]) -> Operation[T]:
    """Return the operation of a single call."""
    answer: T = yield call
    return answer


def perform(
    operation: Operation[T],
    send: Callable[[Call[Any]], Any],
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """Perform an operation in sync code."""

    def answer(wanted: Call[Any] | Delay) -> Any:
        return sleep(wanted.seconds) if isinstance(wanted, Delay) else send(wanted)

    return drive(operation, answer)


async def aperform(operation: Operation[T], send: Callable[[Call[Any]], Awaitable[Any]]) -> T:
    """Perform an operation in async code."""

    def answer(wanted: Call[Any] | Delay) -> Awaitable[Any]:
        return asyncio.sleep(wanted.seconds) if isinstance(wanted, Delay) else send(wanted)

    return await adrive(operation, answer)


class Performer(Protocol):
    """An object whose methods perform operations."""

    def _perform(self, operation: Operation[T], /) -> T: ...
    async def _aperform(self, operation: Operation[T], /) -> T: ...


S = TypeVar("S", bound=Performer)


def performed(make: Callable[Concatenate[S, P], Operation[T]]) -> Callable[Concatenate[S, P], T]:
    """Make the method that returns an operation perform it; ``twin`` makes its async version."""

    @wraps(make)
    def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._perform(make(self, *args, **kwargs))

    return method


def twin(
    method: Callable[Concatenate[S, P], T], name: str | None = None
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Return the async version of a method, named like it with a leading ``a``."""
    make: Callable[Concatenate[S, P], Operation[T]] = method.__wrapped__  # type: ignore[attr-defined]

    @wraps(make)
    async def amethod(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._aperform(make(self, *args, **kwargs))

    amethod.__name__ = name or f"a{make.__name__}"
    amethod.__doc__ = f"Async version of ``{make.__name__}``."
    return amethod
