"""Calls that may block or hang, made so that nobody has to wait for them."""

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
    """Ours, so that it is not mistaken for a TimeoutError of what was called."""


_abandoned: set[asyncio.Future[Any]] = set()  # the loop itself keeps no task alive


async def in_thread(function: Callable[[], T]) -> T:
    """Call it in a daemon thread of its own, which is abandoned when nobody waits any more."""
    answer: Future[T] = Future()
    answer.set_running_or_notify_cancel()  # from now on it cannot be cancelled from outside
    context = contextvars.copy_context()
    threading.Thread(
        target=settle,
        args=(answer, partial(context.run, function)),
        name="tenure-close",
        daemon=True,
    ).start()
    return await asyncio.wrap_future(answer)


def settle(answer: "Future[T]", function: Callable[[], T]) -> None:
    """Put what the function returns or raises into the answer."""
    try:
        answer.set_result(function())
    except Exception as error:  # noqa: BLE001
        is_taken = not isinstance(error, StopIteration)  # no future takes that
        answer.set_exception(error if is_taken else RuntimeError(f"it raised {error!r}"))
    except BaseException as error:  # noqa: BLE001
        answer.set_exception(RuntimeError(f"it raised {error!r}"))  # it would end whoever waits


async def call(function: Callable[..., Any], *args: Any) -> Any:
    """Its answer: a coroutine function runs in this loop, any other in a thread of its own."""
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
    """Its result, or TookTooLong; work that will not be cancelled is left behind."""
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


async def _only_exceptions(work: Awaitable[T]) -> T:
    try:
        return await work
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as error:  # it would end whoever waits, or the loop
        raise RuntimeError(f"it raised {error!r}") from error


def _forget(task: asyncio.Future[Any]) -> None:
    _abandoned.discard(task)
    if not task.cancelled():
        task.exception()  # looked at, so that nobody complains that nobody did
