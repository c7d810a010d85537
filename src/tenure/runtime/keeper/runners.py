"""The runners of a worker as its keeper sees them."""

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tenure.runtime.guard.processes import catches
from tenure.runtime.guarding import Exit, Guard
from tenure.runtime.keeper.output import Output
from tenure.runtime.keeper.run import Run
from tenure.runtime.keeper.said import say_began
from tenure.runtime.messages import (
    ANNOUNCE,
    Begin,
    Broken,
    FromRunner,
    Hello,
    Kind,
    Message,
    Quit,
    Ready,
    Start,
    Work,
    WornOut,
)
from tenure.runtime.shared_state import SharedState
from tenure.runtime.wire import Channel, from_runner

_log = logging.getLogger("tenure.worker")

_HANDLED = (signal.SIGUSR1, signal.SIGUSR2)  # an interrupt, and a wish to see the stack
_PART = 4 << 20  # bytes of arguments and checkpoints in one message

Hear = Callable[["Runner", FromRunner], None]
Lost = Callable[["Runner", Exit | None], None]


class Runner:
    """One process for the code of jobs. Until it is begun it is a spare of every kind."""

    def __init__(self, name: str, hear: Hear, lost: Lost) -> None:
        self.name = name
        self.pid = 0
        self.kind: Kind | None = None
        self.tenant: str | None = None
        self.runs: dict[int, Run] = {}
        self.done = 0  # runs that ended here
        self.idle_since = asyncio.get_running_loop().time()
        self.alone = False  # for one job under suspicion
        self.retired = False  # takes no further runs
        self.killed = False  # by us, so its death is no crash
        self.memory = 0  # bytes, when last looked
        self.passed_on: set[int] = set()  # runs whose interrupt reached the runner's loop
        self.hello: asyncio.Future[Hello | Broken] = asyncio.get_running_loop().create_future()
        self.ready = asyncio.Event()
        self.output = Output(self)
        self._asking = asyncio.Lock()  # there is one place for its stack
        self._hear = hear
        self._lost = lost
        self._exit: Exit | None = None
        self._wire_is_lost = self._is_gone = False
        self._waiting: list[Message] = []  # until it is ready; what stops a run follows its start

    async def spawn(
        self, guard: Guard, app: str, env: Mapping[str, str], *, announces: bool = False
    ) -> None:
        ours, theirs = socket.socketpair()
        page, self._stack = SharedState.create("tenure-page"), os.memfd_create("tenure-stack")
        out, err = self.output.pipes()
        try:
            self.pid = await guard.spawn(
                [sys.executable, "-m", "tenure.runtime.runner", app, *[ANNOUNCE] * announces],
                env=env,
                fds=[theirs.fileno(), page, self._stack],
                stdout=out,
                stderr=err,
            )
            self.page = SharedState(page)
            self._pidfd = os.pidfd_open(self.pid)
        except BaseException:
            ours.close()
            os.close(self._stack)
            self.output.close()
            raise
        finally:
            theirs.close()
            for descriptor in (out, err, page):
                os.close(descriptor)
        self._channel: Channel[FromRunner] = Channel(from_runner, self._heard, self._lose_wire)
        await self._channel.open(ours)

    def begin(
        self, kind: Kind, tenant: str, worker: str, settings: Mapping[str, Any], folder: str
    ) -> None:
        self.kind, self.tenant = kind, tenant
        self._channel.send(Begin(kind, tenant, worker, settings, folder))

    def start(self, runs: list[Run], works: list[Work]) -> None:
        for run in runs:
            run.runner = self
            self.runs[run.number] = run
        self._note_start(runs)
        for some in _in_parts(works):
            self.send(Start(some))

    def _note_start(self, runs: Sequence[Run]) -> None:
        if self.ready.is_set():
            now = asyncio.get_running_loop().time()
            for run in runs:
                run.started_at = now
            say_began(runs, now)

    def send(self, message: Message) -> None:
        if self.ready.is_set():
            self._channel.send(message)
        else:
            self._waiting.append(message)

    def quit(self) -> None:
        self.retired = True
        self._channel.send(Quit())

    def signal(self, number: signal.Signals) -> bool:
        """Signal this very process; a pid may be another's by now, a descriptor cannot.

        Say whether it was sent. Of the signals that have a handler in runners, none is sent to a
        process that has taken the handler away: it would be its end.
        """
        if self._is_gone or (number in _HANDLED and not catches(self.pid, number)):
            return False
        try:
            signal.pidfd_send_signal(self._pidfd, number)
        except ProcessLookupError:
            return False
        return True

    async def ask_for_stack(self) -> str:
        """Where it is right now, also when it holds its interpreter's lock."""
        async with self._asking:
            self.stack()
            if not self.signal(signal.SIGUSR2):
                return ""
            for _ in range(100):
                await asyncio.sleep(0.01)
                if stack := self.stack():
                    return stack
            return ""

    def stack(self) -> str:
        """What it wrote about its stack since the last look."""
        if self._is_gone:
            return ""
        size = os.fstat(self._stack).st_size
        text = os.pread(self._stack, size, 0).decode(errors="replace")
        os.ftruncate(self._stack, 0)
        os.lseek(self._stack, 0, os.SEEK_SET)
        return text

    def exited(self, how: Exit) -> None:
        """The guard says that the process and all below it are gone."""
        self._exit = how
        self._end()

    def _lose_wire(self) -> None:
        """It has ended, or it cannot be understood any more, which is as good as that."""
        self._wire_is_lost = True
        self.signal(signal.SIGKILL)
        self._end()

    def _heard(self, message: FromRunner) -> None:
        match message:
            case Hello() | Broken():
                if not self.hello.done():
                    self.hello.set_result(message)
            case Ready():
                self.ready.set()
                self._note_start(list(self.runs.values()))
                waiting, self._waiting = self._waiting, []
                for one in waiting:
                    self.send(one)
            case WornOut(why):
                self.retired = True  # before it is known that it is free again
                _log.info("%s (pid %d) is replaced: %s", self.name, self.pid, why)
            case _:
                self._hear(self, message)

    def _end(self) -> None:
        self.retired = True  # from the first sign on: whoever came to it now would die with it
        if self._is_gone or not self._wire_is_lost or self._exit is None:
            return
        self._is_gone = True
        os.close(self._pidfd)
        os.close(self._stack)
        self._channel.close()
        self.output.close()
        if not self.hello.done():
            self.hello.set_result(Broken(f"it ended while it was imported: {self._exit}", ""))
        self._lost(self, self._exit)


def _in_parts(works: Sequence[Work]) -> Iterator[tuple[Work, ...]]:
    """So that what comes after them on the wire, a stop perhaps, does not wait for all of them."""
    part: list[Work] = []
    size = 0
    for work in works:
        part.append(work)
        size += len(work.args) + len(work.checkpoint or b"")
        if size > _PART:
            yield tuple(part)
            part, size = [], 0
    if part:
        yield tuple(part)
