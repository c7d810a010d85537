"""One attempt among others in an event loop, and the tasks that it has created there."""

import asyncio
import time
from typing import Any

from tenure.runtime.messages import Work
from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.runner.link import Link


class LoopAttempt(Attempt):
    task: asyncio.Task[None] | None = None  # its own
    terminating: asyncio.Task[None] | None = None  # of the runner, for its processes
    lost_thread = False  # at the last check
    in_thread = False  # its function has begun in a thread, and its end is not known
    finished_at = 0.0  # seconds of CLOCK_MONOTONIC

    def __init__(self, work: Work, link: Link, began: float) -> None:
        super().__init__(work, link)
        self.began = began  # seconds of CLOCK_BOOTTIME
        self.tasks: set[asyncio.Task[Any]] = set()  # those it created
        self.writes: set[asyncio.Future[Any]] = set()  # artifacts that are being written

    def mark_finished(self) -> None:
        self.finished = True
        self.finished_at = time.monotonic()

    @property
    def is_plain(self) -> bool:
        """Tell whether nothing has to be wrapped up."""
        return not (
            self.context
            or self.tasks
            or self.threads
            or self.calls
            or self.pids
            or self.asked
            or self.orders
        )
