"""End what is left of an attempt in an event loop when its code has ended."""

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
_REST = 2  # times as long as a survey takes, until the next one
_FREE = 0.001  # seconds; no rest after a survey that takes less
_QUICK_SURVEYS = 5  # turns of the loop before the first pause
_WRITING = 0.25  # seconds between two checks for a stop while artifacts are being written
_LAST_STEPS = 50  # milliseconds for threads that are about to end


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
        self._has_rested = asyncio.Event()  # so that another survey may be made
        self._has_rested.set()
        self._context = runner_context()
        # Threads for the runner's own work, which must not wait for a thread of the jobs' pool.
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="runner")

    async def end(self, attempt: LoopAttempt) -> list[str]:
        """End everything that a stopped attempt has started; return what could not be ended."""
        until = time.monotonic() + attempt.close_timeout
        surveys = 0
        while True:
            if attempt.pids:
                await self.end_processes(attempt, until - time.monotonic())
            while self._survey is None and not self._has_rested.is_set():
                await self._has_rested.wait()
            if attempt.has_used_threads:
                self._forget_survey()  # it may lack what a thread did since
            # Before the survey: the last act of a thread may be a callback.
            had_running_code = attempt.has_running_code
            survey = self._make_survey()
            has_acted = survey.cancel(attempt) or had_running_code
            left = survey.left_of(attempt)
            if time.monotonic() >= until or not (left or has_acted):
                self._hooks.restore()
                return left
            surveys += 1
            await asyncio.sleep(0 if surveys < _QUICK_SURVEYS else _POLL)

    async def release(self, attempt: LoopAttempt) -> list[str]:
        """End the processes of an attempt that was not stopped; return what else still runs.

        Its tasks, threads and calls may serve other jobs and are not waited for. Artifacts that are
        being written are waited for, until a stop is asked for.
        """
        while attempt.writes and not attempt.asked:
            await asyncio.wait(attempt.writes, timeout=_WRITING)
            attempt.finished_at = time.monotonic()  # its end is not stuck, however long this takes
        if attempt.pids:
            await self.end_processes(attempt, attempt.close_timeout)
        for _ in range(_LAST_STEPS):
            if not attempt.may_have_ending_threads:
                break
            await asyncio.sleep(0.001)
        return [
            *(f"task {asyncio.Task.get_name(task)}" for task in attempt.tasks),
            *names_of(attempt),
        ]

    async def end_processes(self, attempt: LoopAttempt, within: float) -> None:
        """Terminate the processes of an attempt, then kill them, within this many seconds."""
        grace = min(_TERMINATE_FOR, within / 2)
        if attempt.orders is not None:
            grace = min(grace, attempt.orders.grace / 4)
        end = self._ownership.processes.end
        ending = as_runner(self._loop.run_in_executor, self._threads, end, attempt, grace)
        await asyncio.wait({ending}, timeout=max(within, 0))

    def _make_survey(self) -> Survey:
        """Return the survey of this turn, which all attempts that end in it share.

        A survey takes longer the more jobs run. With a rest after each, ten thousand attempts that
        are stopped at once end with a few of them.
        """
        if self._survey is None:
            began = time.monotonic()
            self._survey = Survey(self._loop, self._ownership, self._internal)
            self._loop.call_soon(self._forget_survey, context=self._context)
            if (took := time.monotonic() - began) > _FREE:
                self._has_rested.clear()
                self._loop.call_later(took * _REST, self._end_rest, context=self._context)
        return self._survey

    def _forget_survey(self) -> None:
        self._survey = None

    def _end_rest(self) -> None:
        self._has_rested.set()
