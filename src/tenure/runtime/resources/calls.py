"""Calls that may block or hang, without making the caller wait for them."""

import asyncio
import contextvars
import inspect
import os
import socket
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")

CANCEL_PATIENCE = 0.05  # seconds for a cancelled task to end before it is abandoned


class TookTooLong(TimeoutError):
    """A timeout of this module, not a TimeoutError that the called function raised."""


_abandoned: set[asyncio.Future[Any]] = set()  # the loop itself keeps no task alive


async def in_thread(function: Callable[[], T]) -> T:
    """Call a function in a daemon thread of its own; a caller that is cancelled abandons it."""
    answer: Future[T] = Future()
    answer.set_running_or_notify_cancel()  # so that it cannot be cancelled from outside
    context = contextvars.copy_context()
    threading.Thread(
        target=settle,
        args=(answer, partial(context.run, function)),
        name="tenure-close",
        daemon=True,
    ).start()
    return await asyncio.wrap_future(answer)


def settle(answer: "Future[T]", function: Callable[[], T]) -> None:
    """Put the result or error of a function into a future."""
    try:
        answer.set_result(function())
    except Exception as error:  # noqa: BLE001
        is_taken = not isinstance(error, StopIteration)  # futures refuse it
        answer.set_exception(error if is_taken else RuntimeError(f"it raised {error!r}"))
    except BaseException as error:  # noqa: BLE001
        answer.set_exception(RuntimeError(f"it raised {error!r}"))  # it would end the waiting code


async def call(function: Callable[..., Any], *args: Any) -> Any:
    """Call a coroutine function in this loop, and any other function in a thread of its own."""
    if inspect.iscoroutinefunction(function):
        return await function(*args)
    answer = await in_thread(partial(function, *args))
    return await answer if inspect.isawaitable(answer) else answer


def drive(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits, without an event loop."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    work.close()
    raise RuntimeError("it has to be closed in its own thread and waits for an event loop there")


def cut(descriptor: int) -> None:
    """End the connection of a socket; unlike closing it, this wakes a thread that reads from it."""
    # Through a copy: the sockets of event loops offer no shutdown, or refuse it.
    with socket.socket(fileno=os.dup(descriptor)) as copy:
        copy.shutdown(socket.SHUT_RDWR)


async def within(seconds: float, work: Awaitable[T]) -> T:
    """Return the result, or raise TookTooLong; work that ignores its cancel is abandoned."""
    task = asyncio.ensure_future(_only_exceptions(work))
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=CANCEL_PATIENCE)
            raise TookTooLong(f"it took longer than {seconds:g} s")
    finally:
        if not task.done():
            task.cancel()
            _abandoned.add(task)
        task.add_done_callback(_forget)
    if task.cancelled():
        raise RuntimeError("it was cancelled from elsewhere")
    return task.result()


async def is_done_within(seconds: float, work: Awaitable[Any]) -> bool:
    """Return whether the work was done in time; it is abandoned as by ``within``."""
    try:
        await within(seconds, work)
    except TookTooLong:
        return False
    return True


async def _only_exceptions(work: Awaitable[T]) -> T:
    try:
        return await work
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as error:  # it would end the waiting code, or the loop
        raise RuntimeError(f"it raised {error!r}") from error


def _forget(task: asyncio.Future[Any]) -> None:
    _abandoned.discard(task)
    if not task.cancelled():
        task.exception()  # retrieved, so that asyncio does not log that it never was
