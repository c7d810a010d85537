"""Managers for objects that close by a method, by leaving a block, or in a way of their own."""

import asyncio
import inspect
import socket
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from typing import Any

from tenure.errors import CloseFailed
from tenure.runtime.resources.calls import call, cut, in_thread, is_done_within
from tenure.runtime.resources.manager import ResourceManager

_BY_FORCE = ("abort", "terminate", "kill")


class ClosableResourceManager(ResourceManager):
    """Anything with ``aclose`` or ``close``."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing
        self.name = type(thing).__name__
        # sqlite3 refuses every thread but that which opened the connection.
        self.same_thread = type(thing).__module__ == "sqlite3"
        self._closed = False

    def is_active(self) -> bool:
        return not self._closed

    async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:
        if self.same_thread:
            self.thing.close()
        elif not await is_done_within(timeout_seconds, self._close()):
            return False
        self._closed = True
        return True

    async def force_close(self) -> None:
        if isinstance(self.thing, socket.socket):
            with suppress(OSError):
                cut(self.thing.fileno())
        transport = getattr(self.thing, "transport", None)  # of a StreamWriter
        for holder in (self.thing, transport):
            for method in _BY_FORCE:
                if callable(end := getattr(holder, method, None)):
                    await self._call(end)
                    self._closed = True
                    return
        await self._close()
        self._closed = True

    async def _close(self) -> None:
        await self._call(getattr(self.thing, "aclose", None) or self.thing.close)
        if callable(wait := getattr(self.thing, "wait_closed", None)):
            await wait()

    async def _call(self, method: Any) -> None:
        # Transports, streams and servers belong to their loop, and closing them does not block.
        if hasattr(self.thing, "get_extra_info") or hasattr(self.thing, "wait_closed"):
            answer = method()
            await answer if inspect.isawaitable(answer) else None
        else:
            await call(method)


class EnteredResourceManager(ResourceManager):
    """A context manager that was entered: closing it means leaving its block."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.name = type(context).__name__
        self._left = False

    def is_active(self) -> bool:
        return not self._left

    async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:
        return await is_done_within(timeout_seconds, self._leave())

    async def force_close(self) -> None:
        for method in (*_BY_FORCE, "aclose", "close"):
            if callable(end := getattr(self.context, method, None)):
                await call(end)
                self._left = True
                return
        raise CloseFailed(f"{self.name} has no way to be closed by force")

    async def _leave(self) -> None:
        if not hasattr(self.context, "__aexit__"):
            await in_thread(self._leave_plainly)
            return
        with _except(self.ended_by) as raised:
            await self.context.__aexit__(*raised)
        self._left = True

    def _leave_plainly(self) -> None:
        with _except(self.ended_by) as raised:
            self.context.__exit__(*raised)
        self._left = True


@contextmanager
def _except(error: BaseException | None) -> Iterator[tuple[Any, ...]]:
    """Yield the arguments of an exit by this error, which is no failure if it is raised back."""
    try:
        yield None if error is None else type(error), error, None
    except BaseException as raised:
        if raised is not error:
            raise


class HeldResourceManager(ResourceManager):
    """An async context manager in a task of its own, so that the same task enters and leaves it."""

    def __init__(self, context: AbstractAsyncContextManager[Any]) -> None:
        self.context = context
        self.name = type(context).__name__
        self._leaving = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def enter(self) -> Any:
        """Enter the context manager, and return what it yields."""
        entered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold(entered), name=f"hold {self.name}")
        try:
            await asyncio.wait({entered, self._task}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._task.cancel()
            raise
        if not entered.done():
            self._task.result()
        return entered.result()

    def is_active(self) -> bool:
        return self._task is not None and not self._task.done()

    async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:
        self._leaving.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=timeout_seconds)
            if not self._task.done():
                return False
            self._task.result()
        return True

    async def force_close(self) -> None:
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _hold(self, entered: "asyncio.Future[Any]") -> None:
        try:
            async with self.context as value:
                entered.set_result(value)
                await self._leaving.wait()
                if self.ended_by is not None:
                    raise self.ended_by  # noqa: TRY301
        except BaseException as raised:
            if raised is not self.ended_by:
                raise


class ForeignResourceManager(ResourceManager):
    """An object with the three methods of a manager that is not a ResourceManager."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing
        self.name = type(thing).__name__

    def is_active(self) -> bool:
        return bool(self.thing.is_active())

    async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:
        return await call(self.thing.close_gracefully, timeout_seconds) is not False

    async def force_close(self) -> None:
        await call(self.thing.force_close)
