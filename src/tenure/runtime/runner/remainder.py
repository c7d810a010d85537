"""Ending what is left of an attempt in an event loop when its code has ended."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tenure.runtime.runner.code_hooks import CodeHooks
from tenure.runtime.runner.loop_attempt import LoopAttempt
from tenure.runtime.runner.owners import as_runner, runner_context
from tenure.runtime.runner.ownership import Ownership
from tenure.runtime.runner.survey import Survey
from tenure.runtime.runner.threads import names_of

_TERMINATE_FOR = 1.0  # seconds between SIGTERM and SIGKILL for processes of a job
_POLL = 0.01
_QUICK_LOOKS = 5  # turns of the loop before the first pause


class Remainder:
    """`internal` tells whether a callback bound to this object is the runner's own."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        ownership: Ownership,
        internal: Callable[[Any], bool],
    ) -> None:
        self._loop = loop
        self._ownership = ownership
        self._internal = internal
        self._hooks = CodeHooks()
        self._survey: Survey | None = None
        self._context = runner_context()
        # Threads for the runner's own work, which must not wait for a thread of the jobs' pool.
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="runner")

    async def end(self, attempt: LoopAttempt) -> list[str]:
        """End all that a stopped attempt has started; return what could not be ended."""
        until = time.monotonic() + attempt.close_timeout
        looks = 0
        while True:
            survey = self._look()
            survey.cancel(attempt)
            if attempt.pids:
                grace = 0.0 if attempt.forced else _TERMINATE_FOR
                await self.end_processes(attempt, grace, until - time.monotonic())
                survey = self._look()
            left = survey.left_of(attempt)
            if not left or time.monotonic() >= until:
                self._hooks.restore()
                return left
            looks += 1
            await asyncio.sleep(0 if looks < _QUICK_LOOKS else _POLL)

    async def release(self, attempt: LoopAttempt) -> list[str]:
        """End the tasks and processes of an attempt that was not stopped; return what goes on.

        Its threads and calls may go on: they may serve others, and nobody waits for them.
        """
        tasks = {task for task in attempt.tasks if not task.done()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=attempt.close_timeout)
        if attempt.pids:
            await self.end_processes(attempt, _TERMINATE_FOR, attempt.close_timeout)
        return [
            *(f"task {task.get_name()}" for task in tasks if not task.done()),
            *names_of(attempt),
        ]

    async def end_processes(self, attempt: LoopAttempt, grace: float, within: float) -> None:
        """End the processes of an attempt, as far as that can be done in this time."""
        end = self._ownership.processes.end
        ending = as_runner(self._loop.run_in_executor, self._threads, end, attempt, grace)
        await asyncio.wait({ending}, timeout=max(within, 0))

    def _look(self) -> Survey:
        """Look at all that is there, once for all attempts that end in the same turn."""
        if self._survey is None:
            self._survey = Survey(self._loop, self._ownership, self._internal)
            self._loop.call_soon(self._forget_survey, context=self._context)
        return self._survey

    def _forget_survey(self) -> None:
        self._survey = None
