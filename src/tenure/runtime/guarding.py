"""The keeper's side of the guard: starting it, asking it, and noticing when it fails."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from tenure.errors import GuardUnavailable
from tenure.runtime.guard import cgroups, processes, system, wire
from tenure.runtime.guard.guard_state import GuardState, boottime
from tenure.runtime.leftovers import Survivor, Swept, check_marker, kill_marked

PROGRAM = Path(__file__).with_name("guard")
START_PATIENCE = 20.0
CLOSE_PATIENCE = 10.0
STALE = 3.0  # the guard leaves a new stamp at least once a second
SECOND_CHECK = 1.0

Reply = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Exit:
    """The end of a runner, by exit code or by signal. Nothing of its tree is left but `left`.

    `gone` are the pids of its tree, the first of them if there were many; `count` is how many.
    """

    code: int | None
    signal: int | None
    left: tuple[Survivor, ...] = ()
    gone: tuple[int, ...] = field(default=(), compare=False)
    count: int = field(default=0, compare=False)

    def __str__(self) -> str:
        if self.signal is None:
            return f"exit code {self.code}"
        with suppress(ValueError):
            return f"signal {self.signal} ({signal.Signals(self.signal).name})"
        return f"signal {self.signal}"


class Guard:
    """The guard of this keeper.

    `on_exit(pid, exit)` is called once for every runner that `spawn` started, also when the guard
    itself dies. `died` is done when the guard ended without being asked to, and all its runners
    were killed.
    """

    def __init__(self, marker: str, process: subprocess.Popen[bytes], page: GuardState) -> None:
        self.marker = marker
        self.kills_by = ""
        self.on_exit: Callable[[int, Exit], None] = lambda _pid, _ended: None
        self._loop = asyncio.get_running_loop()
        self.died: asyncio.Future[Swept] = self._loop.create_future()
        self._process = process
        self._process_fd = system.watch_child(process)
        self._page = page
        self._runners: set[int] = set()
        self._numbers = count(1)
        self._requests: dict[int, asyncio.Future[Reply]] = {}
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._is_closing = False
        self._suspicion: tuple[float, float] | None = None
        self._sweep: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls, *, marker: str, freeze_max: timedelta, use_cgroups: bool = True
    ) -> "Guard":
        """Start a guard for the worker run of this marker; nothing is trusted yet."""
        check_marker(marker)
        here, there = system.socket_pair()
        here.setblocking(False)
        page = GuardState.create()
        page.stamp = boottime()
        how = "cgroups" if use_cgroups and not system.PORTABLE else "walk"
        process = _launch(there, page, marker, [str(freeze_max.total_seconds()), how])
        guard = cls(marker, process, page)
        guard._listen(here)
        try:
            async with asyncio.timeout(START_PATIENCE):
                await guard._ready
        except BaseException as error:
            process.kill()
            await guard.close()
            if isinstance(error, TimeoutError):
                raise GuardUnavailable("the guard did not start in time") from error
            raise
        return guard

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def runners(self) -> frozenset[int]:
        """The runners whose exit was not reported yet."""
        return frozenset(self._runners)

    @property
    def is_gone(self) -> bool:
        """True if the guard has ended, and all runners with it."""
        return self._ended.done()

    @property
    def has_failed(self) -> bool:
        """True if the guard has ended without being asked to."""
        return self.is_gone and not self._is_closing

    @property
    def is_frozen(self) -> bool:
        """True if all runners are frozen; they stay so until `thaw` or their death."""
        return self._page.frozen

    def trust_until(self, deadline: float) -> None:
        """Let the runners run until this `boottime()`; the guard freezes them after it."""
        self._page.deadline = deadline

    def seems_stuck(self, now: float) -> bool:
        """Return whether the guard has stopped working; to be called about once a second.

        It takes two checks: a keeper that was itself frozen finds an old stamp and must give the
        guard, which may have been frozen too, the time to write a new one.
        """
        stamp = self._page.stamp
        if now - stamp < STALE or self.is_gone:
            self._suspicion = None
        elif self._suspicion is None or self._suspicion[0] != stamp:
            self._suspicion = (stamp, now)
        else:
            return now - self._suspicion[1] >= SECOND_CHECK
        return False

    async def spawn(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        fds: Sequence[int] = (),
        stdout: int | None = None,
        stderr: int | None = None,
        serves_forks: bool = False,
    ) -> int:
        """Start a runner and return its pid; `fds` become its descriptors 3, 4, and so on.

        It gets exactly this environment and the markers, a session of its own, nothing to read
        on stdin, and /dev/null for an output that is not given. OSError if it cannot be started.
        If it serves forks, its last descriptor is where it takes requests of the guard.
        """
        plan = {"argv": list(argv), "env": dict(env), "forks": serves_forks}
        return await self._start(plan, fds, stdout, stderr, argv[0] if argv else "")

    async def fork(self, server: int, *, fds: Sequence[int], stdout: int, stderr: int) -> int:
        """Let a fork server make a runner, and return its pid. OSError if it cannot.

        The runner is a child of the guard like any other: it does not depend on the fork server.
        """
        plan = {"server": server, "forks": False}
        return await self._start(plan, fds, stdout, stderr, f"fork server {server}")

    async def _start(
        self,
        program: wire.Message,
        fds: Sequence[int],
        stdout: int | None,
        stderr: int | None,
        name: str,
    ) -> int:
        """Start a runner by what ``name`` names, and return its pid."""
        plan = wire.write_apart(program)
        null = os.open(os.devnull, os.O_RDWR)
        try:
            outputs = [null if fd is None else fd for fd in (stdout, stderr)]
            answer = await self._ask("spawn", [plan, *outputs, *fds])
        finally:
            os.close(plan)
            os.close(null)
        if "errno" in answer:
            raise OSError(answer["errno"], os.strerror(answer["errno"]), name)
        return int(answer["pid"])

    async def kill(self, pid: int) -> tuple[Survivor, ...]:
        """Kill a runner and all below it; return what is left of them after at most 2 seconds.

        The guard keeps trying to kill what is left.
        """
        answer = await self._ask("kill", pid=pid)
        return msgspec.convert(answer["left"], tuple[Survivor, ...])

    async def thaw(self) -> bool:
        """Let them continue; return False if the deadline is past, so that they stay frozen."""
        return bool((await self._ask("thaw"))["thawed"])

    async def end_it(self) -> None:
        """Kill a guard that is stuck, its runners first; `died` follows."""
        await asyncio.to_thread(kill_marked, self.marker, self._runners.copy())
        await asyncio.shield(self._ended)

    async def close(self) -> None:
        """Kill all runners and end the guard."""
        self._is_closing = True
        if not self._ended.done():
            with suppress(GuardUnavailable):
                self._send({"id": 0, "do": "close"})
            try:
                async with asyncio.timeout(CLOSE_PATIENCE):
                    await asyncio.shield(self._ended)
            except TimeoutError:
                await self.end_it()
        if self._sweep is not None:
            await self._sweep
        self._release()

    async def __aenter__(self) -> "Guard":
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def _ask(self, what: str, fds: Sequence[int] = (), **content: object) -> Reply:
        number = next(self._numbers)
        answer = self._requests[number] = self._loop.create_future()
        try:
            self._send({"id": number, "do": what, **content}, fds)
            reply: Reply = await answer
        except asyncio.CancelledError:
            if what == "spawn":
                self._abandon_spawn(number, answer)
            raise
        finally:
            if self._requests.get(number) is answer:
                del self._requests[number]
        if "refused" in reply:
            raise GuardUnavailable(reply["refused"])
        return reply

    def _abandon_spawn(self, number: int, answer: asyncio.Future[Reply]) -> None:
        """Kill a runner whose request was cancelled, now or when it has started."""

        def kill(answer: asyncio.Future[Reply]) -> None:
            if not answer.cancelled() and answer.exception() is None:
                pid = answer.result().get("pid", 0)
                self._runners.discard(pid)
                with suppress(GuardUnavailable):
                    self._send({"id": 0, "do": "kill", "pid": pid})

        if answer.cancelled():
            answer = self._requests[number] = self._loop.create_future()
        answer.add_done_callback(kill)

    def _listen(self, end: socket.socket) -> None:
        self._end = end
        self._outbox: deque[tuple[wire.Message, list[int]]] = deque()
        self._loop.add_reader(end.fileno(), self._receive)
        self._loop.add_reader(self._process_fd, self._on_end)

    def _send(self, message: wire.Message, fds: Sequence[int] = ()) -> None:
        if self._ended.done():
            raise GuardUnavailable("the guard is gone, and all runners with it")
        # Copies: the caller may close its own before a guard that is slow takes them.
        self._outbox.append((message, [os.dup(fd) for fd in fds]))
        if len(self._outbox) == 1:
            self._send_waiting()

    def _send_waiting(self) -> None:
        self._loop.remove_writer(self._end.fileno())
        while self._outbox:
            message, fds = self._outbox[0]
            try:
                wire.send(self._end, message, fds)
            except BlockingIOError:
                self._loop.add_writer(self._end.fileno(), self._send_waiting)
                return
            except ConnectionError:
                pass  # its end is seen by its pidfd
            self._outbox.popleft()
            for fd in fds:
                os.close(fd)

    def _receive(self) -> None:
        while True:
            try:
                message, _ = wire.receive(self._end)
            except BlockingIOError:
                return
            except ConnectionError:
                message = None
            if message is None:
                self._loop.remove_reader(self._end.fileno())
                return
            self._handle(message)

    def _handle(self, message: wire.Message) -> None:
        match message:
            case {"tell": "ready", "kills_by": kills_by}:
                self.kills_by = kills_by
                self._ready.set_result(None)
            case {"tell": "exited", "pid": pid}:
                if pid in self._runners:
                    self._runners.remove(pid)
                    self.on_exit(pid, msgspec.convert(message, Exit))
            case {"id": number}:
                answer = self._requests.pop(number, None)
                if answer is not None and not answer.done():
                    # At once, not when the answer is read: its exit may be the next message.
                    if "pid" in message:
                        self._runners.add(message["pid"])
                    answer.set_result(message)

    def _on_end(self) -> None:
        """Handle that the guard's process is gone."""
        self._receive()
        self._loop.remove_reader(self._process_fd)
        self._loop.remove_reader(self._end.fileno())
        self._loop.remove_writer(self._end.fileno())
        self._process.wait()
        self._ended.set_result(None)
        for _, fds in self._outbox:
            for fd in fds:
                os.close(fd)
        self._outbox.clear()
        self._sweep = self._loop.create_task(self._clear_up())

    async def _clear_up(self) -> None:
        """Kill what a dead guard could not, and fail all that wait for it."""
        swept = await asyncio.to_thread(kill_marked, self.marker, self._runners.copy())
        await asyncio.to_thread(cgroups.clear, self.marker)
        gone = GuardUnavailable("the guard is gone, and all runners with it")
        if not self._ready.done():
            self._ready.set_exception(gone)
        for request in self._requests.values():
            if not request.done():
                request.set_exception(gone)
        self._requests.clear()
        while self._runners:
            self.on_exit(self._runners.pop(), Exit(None, signal.SIGKILL, swept.left))
        if not self._is_closing and not self.died.done():
            self.died.set_result(swept)

    def _release(self) -> None:
        self._end.close()
        os.close(self._process_fd)
        self._page.close()


def _launch(
    control: socket.socket, page: GuardState, marker: str, options: list[str]
) -> subprocess.Popen[bytes]:
    """Start the guard's program, apart from the keeper's terminal and from its signals."""
    keeper = system.life_of_this_process()
    handed = (control.fileno(), keeper, page.fd)
    flags = ["-P"] if system.PORTABLE else ["-I", "-S"]  # psutil is a package of the site
    try:
        return subprocess.Popen(  # noqa: S603
            [sys.executable, *flags, PROGRAM, *map(str, handed), marker, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=handed,
            env={**os.environ, processes.GUARD: marker},
            start_new_session=True,
        )
    finally:
        control.close()
        os.close(keeper)
