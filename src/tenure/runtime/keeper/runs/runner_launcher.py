"""Starts runners and knows those that are alive."""

import asyncio
import os
from datetime import timedelta
from itertools import count
from uuid import UUID

from tenure.errors import TenureError
from tenure.runtime.guard.processes import ATTEMPT, ROOM_FOR_ATTEMPT
from tenure.runtime.guarding import Exit, Guard
from tenure.runtime.keeper.runs.runner import Runner
from tenure.runtime.messages import Broken


class ImportFailed(TenureError):
    """The module with the task functions cannot be imported."""

    def __init__(self, sentence: str, traceback: str = "") -> None:
        super().__init__(sentence)
        self.traceback = traceback


class RunnerLauncher:
    def __init__(
        self, worker: UUID, guard: Guard, app: str, url: str | None, import_timeout: timedelta
    ) -> None:
        self._worker = worker
        self._guard = guard
        self._app = app
        # The code of jobs uses the same database as the worker.
        database = {"TENURE_DATABASE_URL": url} if url else {}
        self._env = {**os.environ, **database, ATTEMPT: ROOM_FOR_ATTEMPT}
        self._import_timeout = import_timeout.total_seconds()
        self._numbers = count(1)
        self._alive: dict[int, Runner] = {}  # by pid
        self._gone_early: dict[int, Exit] = {}  # by pid: exits that came before the pid was known
        self._turns = asyncio.Semaphore(max(2, os.cpu_count() or 1))  # more at once is no faster
        guard.on_exit = self._exited

    @property
    def runners(self) -> list[Runner]:
        return list(self._alive.values())

    def is_alive(self, runner: Runner) -> bool:
        return runner.pid in self._alive

    async def spawn(self, *, announces: bool = False) -> Runner:
        """Start a runner, and return it when it has imported the app."""
        async with self._turns:
            return await self._spawn(announces)

    async def _spawn(self, announces: bool) -> Runner:
        # A name that no other runner of the fleet has.
        runner = Runner(f"runner-{str(self._worker)[:8]}-{next(self._numbers)}")
        await runner.spawn(self._guard, self._app, self._env, announces=announces)
        self._alive[runner.pid] = runner
        if exit_early := self._gone_early.pop(runner.pid, None):
            self._exited(runner.pid, exit_early)
        try:
            async with asyncio.timeout(self._import_timeout):
                hello = await asyncio.shield(runner.hello)
        except TimeoutError:
            stack = await runner.ask_for_stack()
            await self._guard.kill(runner.pid)
            raise ImportFailed(
                f"{self._app} was not imported within {self._import_timeout:g} s (import_timeout)",
                stack,
            ) from None
        if isinstance(hello, Broken):
            raise ImportFailed(f"{self._app} cannot be imported: {hello.sentence}", hello.traceback)
        return runner

    def _exited(self, pid: int, how: Exit) -> None:
        if runner := self._alive.pop(pid, None):
            runner.exited(how)
        else:
            self._gone_early[pid] = how
