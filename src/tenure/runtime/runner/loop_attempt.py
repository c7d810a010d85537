"""One attempt among others in an event loop, and what it has started there."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from tenure.runtime.messages import Work
from tenure.runtime.runner.attempt import Attempt, Link

T = TypeVar("T")


class LoopAttempt(Attempt):
    task: asyncio.Task[None] | None = None  # its own

    def __init__(self, work: Work, link: Link) -> None:
        super().__init__(work, link)
        self.tasks: set[asyncio.Task[Any]] = set()  # those it created
        self.threads: set[threading.Thread] = set()
        self.calls: set[Future[Any]] = set()  # in threads of the loop's executor
        self.pids: set[int] = set()
        self._lent: set[int] = set()  # threads of the loop's executor that work for it now

    def in_thread(self, work: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """Do this work for it, in a thread that is not its own."""
        thread = threading.get_ident()
        self._lent.add(thread)
        try:
            return work(*args, **kwargs)
        finally:
            self._lent.discard(thread)

    @property
    def inside(self) -> dict[int, str]:
        """The threads in which its code is, by ident, and what to call them."""
        own = {one.ident: f"thread {one.name}" for one in tuple(self.threads) if one.ident}
        return {**dict.fromkeys(tuple(self._lent), "its thread"), **own}

    @property
    def is_plain(self) -> bool:
        """Whether nothing has to be wrapped up."""
        return not (
            self.context or self.tasks or self.threads or self.calls or self.pids or self.orders
        )

    @property
    def left(self) -> str:
        """What of it has not ended."""
        if any(not task.done() for task in self.tasks):
            return "a task that will not end"
        if any(not call.done() for call in self.calls) or any(t.is_alive() for t in self.threads):
            return "a thread that will not end"
        return ""
