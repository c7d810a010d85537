"""Effects that the code of a step asks for, performed in plain functions and in coroutines."""

import asyncio
import inspect
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from tenure.domain.duration import duration as read
from tenure.domain.duration import in_words
from tenure.domain.generators import adrive, drive
from tenure.errors import InputRefused, Timeout
from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.steps.alarm import alarm
from tenure.runtime.steps.scope import Scope, current_scope

T = TypeVar("T")

_CHECK_EVERY = 0.1  # seconds between two checks for a stop, in a thread that cannot be interrupted


@dataclass(frozen=True)
class Request:
    """Ask the keeper."""

    name: str
    arguments: Any = None


@dataclass(frozen=True)
class Invoke:
    """Call the function of a step."""

    function: Callable[[], Any]
    scope: Scope
    timeout: float | None


@dataclass(frozen=True)
class Offload:
    """Call blocking code of Tenure."""

    function: Callable[[], Any]


@dataclass(frozen=True)
class Nap:
    seconds: float


Effect = Request | Invoke | Offload | Nap
Work = Generator[Effect, Any, T]


def perform(attempt: Attempt, work: Work[T]) -> T:
    """Perform the work in a plain function."""
    return drive(work, partial(_perform, attempt))


async def aperform(attempt: Attempt, work: Work[T]) -> T:
    """Perform the work in a coroutine."""
    return await adrive(work, partial(_aperform, attempt))


def _perform(attempt: Attempt, wanted: Effect) -> Any:
    match wanted:
        case Request(name, arguments):
            return attempt.request(name, arguments)
        case Offload(function):
            return function()
        case Nap(seconds):
            until = time.monotonic() + seconds
            while (left := until - time.monotonic()) > 0:
                attempt.raise_if_asked()
                time.sleep(min(left, _CHECK_EVERY))
            return None
        case Invoke(function, scope, timeout):
            before = current_scope.set(scope)
            try:
                with alarm(attempt, timeout, scope.name):
                    value = function()
            finally:
                current_scope.reset(before)
            if inspect.iscoroutine(value):
                value.close()
                raise InputRefused(
                    f"step {scope.name!r} calls a coroutine function; in a plain function a step "
                    f"calls a plain one"
                )
            return value


async def _aperform(attempt: Attempt, wanted: Effect) -> Any:
    match wanted:
        case Request(name, arguments):
            return await attempt.arequest(name, arguments)
        case Offload(function):
            return await asyncio.to_thread(function)
        case Nap(seconds):
            return await asyncio.sleep(seconds)
        case Invoke(function, scope, timeout):
            before = current_scope.set(scope)
            try:
                return await _call(function, scope, timeout)
            finally:
                current_scope.reset(before)


async def _call(function: Callable[[], Any], scope: Scope, timeout: float | None) -> Any:  # noqa: ASYNC109
    """Call a coroutine function in the loop, and a plain one in a thread."""
    if not is_async(function):
        if timeout is not None:
            raise InputRefused(
                f"step {scope.name!r} has a timeout and calls a plain function, which nothing can "
                f"interrupt in a thread; call a coroutine function"
            )
        value = await asyncio.to_thread(function)
        return await value if inspect.isawaitable(value) else value
    limit = asyncio.timeout(timeout)
    try:
        async with limit:
            return await function()
    except TimeoutError:
        if limit.expired():
            raise took_too_long(scope.name, timeout) from None
        raise


def is_async(function: Callable[..., Any]) -> bool:
    """Tell whether a callable is a coroutine function, also with some arguments bound."""
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object with "async def __call__"
    )


def took_too_long(name: str, timeout: float | None) -> Timeout:
    return Timeout(f"step {name!r} took longer than {in_words(read(timeout or 0))}")
