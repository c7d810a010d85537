"""Starts runners and knows those that are alive.

Runners are forked from a fork server, a runner that has imported the app and does nothing else, or
spawned: then each imports the app itself. A fork server that dies is replaced; until then, runners
are spawned.
"""

import asyncio
import errno
import logging
import os
import signal
from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import count
from uuid import UUID

from tenure.errors import GuardUnavailable, SettingInvalid, TenureError
from tenure.runtime.guard.processes import ATTEMPT, ROOM_FOR_ATTEMPT
from tenure.runtime.guard.system import PORTABLE
from tenure.runtime.guarding import Exit, Guard
from tenure.runtime.keeper.database.backoff import Backoff
from tenure.runtime.keeper.runs.runner import Runner
from tenure.runtime.messages import ANNOUNCE, FORKS, Broken, Hello

_log = logging.getLogger("tenure.worker")

# Errors that are not the fork server's: no process can be started in any way.
_SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
_FORK_PATIENCE = 10.0  # seconds, for a fork server to make a runner


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
        self._server: Runner | None = None  # from which runners are forked
        self._backoff = Backoff(first=0.5, longest=30)
        self._replacing: asyncio.Task[None] | None = None
        self.starts_by = "spawn"  # or "fork"; and why
        self.on_change: Callable[[str], object] = lambda _starts_by: None
        guard.on_exit = self._exited

    @property
    def runners(self) -> list[Runner]:
        return list(self._alive.values())

    def is_alive(self, runner: Runner) -> bool:
        return runner.pid in self._alive

    async def first(self, *, may_fork: bool = True) -> Runner:
        """Start the runner that announces what the app can run."""
        return await self._spawn([ANNOUNCE, *[FORKS] * (may_fork and not PORTABLE)])

    async def choose(self, first: Runner, wanted: str) -> Runner:
        """Choose how runners are started from now on; return the first that is free for jobs."""
        hello = first.hello.result()
        assert isinstance(hello, Hello)
        obstacle = "this is the portable mode" if PORTABLE else hello.obstacle
        if wanted == "fork" and obstacle:
            raise SettingInvalid(
                f"runner_start: runners of {self._app} cannot be forked: {obstacle}; "
                f"take that out of the import, or set runner_start to auto or spawn"
            )
        if wanted == "spawn" or obstacle:
            self._start_by(f"spawn: {obstacle or 'runner_start says so'}")
            _log.info("runners are started by %s", self.starts_by)
            return first
        self._fork_from(first)
        return await self.spawn()

    async def spawn(self) -> Runner:
        """Start a runner, and return it when it has imported the app."""
        async with self._turns:
            server = self._server
            if server is not None:
                try:
                    async with asyncio.timeout(_FORK_PATIENCE):
                        return await self._spawn(server=server)
                except (OSError, ImportFailed) as problem:  # a timeout is an OSError, too
                    if isinstance(problem, OSError) and problem.errno in _SCARCE:
                        raise
                    _log.warning(
                        "the fork server (pid %d) made no runner, which is spawned instead: %s",
                        *(server.pid, str(problem) or f"not within {_FORK_PATIENCE:g} s"),
                    )
                    await self._guard.kill(server.pid)
            return await self._spawn()

    def close(self) -> None:
        """Replace no fork server any more."""
        if self._replacing is not None:
            self._replacing.cancel()

    def _start_by(self, method: str) -> None:
        self.starts_by = method
        self.on_change(method)

    def _fork_from(self, server: Runner) -> None:
        server.serve_forks()
        self._server = server
        self._start_by("fork")
        _log.info("runners are started by fork, from pid %d", server.pid)

    async def _replace_server(self) -> None:
        """Start a fork server in place of one that died; it imports the app as it is now."""
        while self._server is None:
            await asyncio.sleep(self._backoff.next())
            try:
                server = await self._spawn([FORKS])
            except GuardUnavailable:
                continue  # for a moment, or it is gone and this task ends with the worker
            except (ImportFailed, OSError) as problem:
                _log.error("no fork server can be started: %s", problem)
                continue
            hello = server.hello.result()
            if isinstance(hello, Hello) and hello.obstacle:
                self._start_by(f"spawn: {hello.obstacle}")
                _log.warning("runners are started by %s", self.starts_by)
                server.quit()
                return
            self._fork_from(server)

    async def _spawn(self, asks: Sequence[str] = (), server: Runner | None = None) -> Runner:
        # A name that no other runner of the fleet has.
        runner = Runner(f"runner-{str(self._worker)[:8]}-{next(self._numbers)}")
        await runner.spawn(self._guard, self._app, self._env, asks=asks, server=server)
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
        except asyncio.CancelledError:  # nobody waits for it any more
            runner.signal(signal.SIGKILL)
            raise
        if isinstance(hello, Broken):
            raise ImportFailed(f"{self._app} cannot be imported: {hello.sentence}", hello.traceback)
        return runner

    def _exited(self, pid: int, how: Exit) -> None:
        if runner := self._alive.pop(pid, None):
            runner.exited(how)
            if runner is self._server:
                self._lose_server(runner, how)
        else:
            self._gone_early[pid] = how

    def _lose_server(self, server: Runner, how: Exit) -> None:
        """Handle the end of the fork server; the runners that it made do not depend on it."""
        self._server = None
        if how.code == 0 or self._guard.is_gone:  # it was asked to end, as the worker does
            return
        _log.warning("the fork server (pid %d) died by %s; it is replaced", server.pid, how)
        self._start_by("spawn: the fork server died and is being replaced")
        self._replacing = asyncio.get_running_loop().create_task(self._replace_server())
