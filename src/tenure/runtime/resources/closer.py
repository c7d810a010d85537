"""Close a resource: gracefully, then by force, then by force again, then by a job."""

import asyncio
import logging
import queue
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from tenure.domain.job import JSON
from tenure.runtime.resources.calls import TookTooLong, call, drive, in_thread, settle, within
from tenure.runtime.resources.manager import ResourceManager
from tenure.runtime.resources.report import Failure

FORCE_TIMEOUT = 1.0  # seconds for one force close
FORCE_AGAIN_AFTER = (0.05, 0.1, 0.2)  # seconds
SLACK = 0.1  # seconds beyond the timeout, for a manager that does not keep it

log = logging.getLogger("tenure.cleanup")

RetryLater = Callable[[str, Mapping[str, JSON]], Any]


@dataclass
class Entry:
    """A resource as it was registered."""

    thing: Any
    manager: ResourceManager
    name: str
    timeout: float | None = None
    again: tuple[str, Mapping[str, JSON]] | None = None
    loop: asyncio.AbstractEventLoop | None = None  # in which it was registered


class Caller(Protocol):
    async def __call__(self, entry: Entry, /, method: Callable[..., Any], *args: Any) -> Any: ...


async def in_this_loop(_: Entry, method: Callable[..., Any], *args: Any) -> Any:
    return await call(method, *args)


class InThreads:
    """Calls for plain code: each in a thread of its own, with an event loop of its own.

    Calls that must run in a certain thread go to the inbox of the thread that closes all.
    """

    def __init__(self) -> None:
        self.inbox: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()

    async def __call__(self, entry: Entry, method: Callable[..., Any], *args: Any) -> Any:
        if entry.manager.same_thread and method == entry.manager.close_gracefully:
            answer: Future[Any] = Future()
            answer.set_running_or_notify_cancel()
            self.inbox.put(partial(settle, answer, lambda: drive(method(*args))))
            return await asyncio.wrap_future(answer)
        if entry.loop is not None and entry.loop.is_running():
            work = asyncio.run_coroutine_threadsafe(call(method, *args), entry.loop)
            return await asyncio.wrap_future(work)
        return await in_thread(lambda: asyncio.run(call(method, *args)))


@dataclass(frozen=True)
class Closed:
    name: str
    forced: bool = False
    failure: Failure | None = None


async def close_entry(
    entry: Entry, seconds: float, caller: Caller, retry_later: RetryLater | None
) -> Closed:
    """Close a resource, by force if need be; never raises."""
    if await _gracefully(entry, seconds, caller):
        return Closed(entry.name)
    error = await _by_force(entry, caller)
    if error is None:
        return Closed(entry.name, forced=True)
    failure = Failure(name=entry.name, error=error)
    if entry.again is not None and retry_later is not None:
        await _enqueue_retry(entry.again, retry_later, failure)
    log.error("%s could not be closed: %s", entry.name, error)
    return Closed(entry.name, failure=failure)


async def _gracefully(entry: Entry, seconds: float, caller: Caller) -> bool:
    method = entry.manager.close_gracefully
    try:
        if await within(seconds + SLACK, caller(entry, method, seconds)) is not False:
            return True
    except TookTooLong:
        pass
    except Exception as error:  # noqa: BLE001
        log.warning("%s raised while it closed: %r", entry.name, error)
        return False
    log.warning("%s did not close within %g s and is closed by force", entry.name, seconds)
    return False


async def _by_force(entry: Entry, caller: Caller) -> str | None:
    """Return None if it was closed, else why not."""
    for pause in (*FORCE_AGAIN_AFTER, None):
        try:
            await within(FORCE_TIMEOUT, caller(entry, entry.manager.force_close))
        except TookTooLong:
            # No retry: the call that hangs is still running.
            return f"its force close did not end within {FORCE_TIMEOUT:g} s"
        except Exception as error:  # noqa: BLE001
            log.warning("%s raised while it was closed by force: %r", entry.name, error)
            if pause is None:
                return str(error) or repr(error)
            await asyncio.sleep(pause)
        else:
            return None
    raise AssertionError("the last pause is none")


async def _enqueue_retry(
    again: tuple[str, Mapping[str, JSON]], retry_later: RetryLater, failure: Failure
) -> None:
    task, args = again
    try:
        await within(FORCE_TIMEOUT, call(retry_later, task, args))
        failure["retry"] = task
    except Exception as error:  # noqa: BLE001
        failure["error"] += f"; and {task} could not be asked to try again: {error!r}"
