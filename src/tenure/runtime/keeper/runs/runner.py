"""A runner as its keeper sees it."""

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from typing import Any

from tenure.runtime.guard.processes import catches
from tenure.runtime.guard.system import make_memory, open_process
from tenure.runtime.guarding import Exit, Guard
from tenure.runtime.keeper.runs.attempt_log import log_started
from tenure.runtime.keeper.runs.run import Run
from tenure.runtime.keeper.runs.runner_output import RunnerOutput
from tenure.runtime.leftovers import Survivor
from tenure.runtime.messages import (
    FORKS,
    AttemptEnded,
    Begin,
    Broken,
    Endings,
    FromRunner,
    Hello,
    Kind,
    Message,
    Quit,
    Ready,
    ServeForks,
    Start,
    Work,
    WornOut,
)
from tenure.runtime.shared_state import SharedState
from tenure.runtime.tickets import QUIT, Tickets
from tenure.runtime.wire import Channel, Frames, from_runner

_log = logging.getLogger("tenure.worker")

_HANDLED = (signal.SIGUSR1, signal.SIGUSR2)  # an interrupt, and a request for the stack
_PART = 4 << 20  # bytes of arguments and checkpoints in one message

OnMessage = Callable[["Runner", FromRunner], None]
OnLost = Callable[["Runner", Exit | None], None]


def _ignore(_runner: "Runner", _event: object) -> None: ...


class Runner:
    """A process for the code of jobs. Until `begin` it is a spare that can become any kind.

    `on_message` gets what concerns its runs; `on_lost` is called once, when the process, all below
    it and the wire are gone.
    """

    def __init__(
        self, name: str, on_message: OnMessage = _ignore, on_lost: OnLost = _ignore
    ) -> None:
        self.name = name
        self.pid = 0
        self.kind: Kind | None = None
        self.tenant: str | None = None
        self.runs: dict[int, Run] = {}
        self.done = 0  # runs that ended here
        self.idle_since = asyncio.get_running_loop().time()
        self.alone = False  # takes one job at a time, or a suspect alone
        self.retired = False  # takes no further runs
        self.killed = False  # by the keeper, so its death is no crash
        self.memory = 0  # bytes, when last measured
        self.acknowledged: set[int] = set()  # runs whose interrupt reached the runner's loop
        self.hello: asyncio.Future[Hello | Broken] = asyncio.get_running_loop().create_future()
        self.ready = asyncio.Event()
        self.output = RunnerOutput(self)
        self.on_message = on_message
        self.on_lost = on_lost
        self._stack_lock = asyncio.Lock()  # there is a single place for its stack
        self._exit: Exit | None = None
        self._wire_is_lost = self._is_gone = False
        self._waiting: list[Message] = []  # until it is ready, so that a stop follows its start

    async def spawn(
        self,
        guard: Guard,
        app: str,
        env: Mapping[str, str],
        *,
        asks: Sequence[str] = (),
        server: "Runner | None" = None,
    ) -> None:
        """Start it, by the fork server if there is one."""
        self._guard = guard
        own_end, runner_end = socket.socketpair()
        page, self._stack = SharedState.create("tenure-page"), make_memory("tenure-stack")
        self.page = SharedState(page)
        self.tickets = Tickets.create()
        out, err = self.output.pipes()
        try:
            fds = [runner_end.fileno(), page, self._stack, self.tickets.reader]
            if server is not None:
                self.pid = await guard.fork(server.pid, fds=fds, stdout=out, stderr=err)
            else:
                self.pid = await guard.spawn(
                    [sys.executable, "-m", "tenure.runtime.runner", app, *asks],
                    env=env,
                    fds=fds,
                    stdout=out,
                    stderr=err,
                    serves_forks=FORKS in asks,
                )
            self._process = open_process(self.pid)
        except BaseException:
            own_end.close()
            os.close(self._stack)
            self.tickets.close()
            self.output.close()
            self.page.close()
            raise
        finally:
            runner_end.close()
            for descriptor in (out, err, page):
                os.close(descriptor)
        self._channel: Channel[FromRunner] = Channel(from_runner, self._receive, self._lose_wire)
        await self._channel.open(own_end)

    def begin(
        self, kind: Kind, tenant: str, worker: str, settings: Mapping[str, Any], folder: str
    ) -> None:
        self.kind, self.tenant = kind, tenant
        self._channel.send(Begin(kind, tenant, worker, settings, folder))

    def serve_forks(self) -> None:
        """Make it a fork server, which runs no jobs."""
        self._channel.send(ServeForks())

    def start(self, runs: list[Run], works: list[Work]) -> None:
        """Start runs; a process runner begins them one after the other."""
        is_busy = bool(self.runs)
        for run in runs:
            run.runner = self
            self.runs[run.number] = run
        for part in _in_parts(works):
            self.send(Start(part))
        if self.kind != "process":
            self._mark_started(runs)
            return
        if not is_busy:
            self._mark_started(runs[:1])
        self.tickets.put(run.number for run in runs)

    def take_back(self, wanted: Collection[Run] | None = None) -> list[Run]:
        """Take back these runs, or all, if they have not begun; return those that will not."""
        waiting = self.tickets.take_all()
        numbers = None if wanted is None else {run.number for run in wanted}
        taken = [number for number in waiting if numbers is None or number in numbers]
        if len(taken) < len(waiting):
            self.tickets.put(number for number in waiting if number not in taken)
        runs = [self.runs.pop(number) for number in taken if number in self.runs]
        for run in runs:
            run.runner, run.started_at = None, None
        return runs

    def note_begun(self) -> float | None:
        """Note which run began last; return when, or None if it is not known to run."""
        number, at = self.page.begun
        run = self.runs.get(number)
        if run is None:
            return None
        if run.started_at is None:
            run.started_at = at
            log_started([run], at)
        return run.started_at

    def unsent_endings(self) -> list[AttemptEnded]:
        """Return the endings that a process runner has kept, to send them together."""
        return [
            ended
            for message in Frames(from_runner).feed(self.page.endings)
            if isinstance(message, Endings)
            for ended in message.ended
        ]

    def _mark_started(self, runs: Sequence[Run]) -> None:
        if self.ready.is_set():
            now = asyncio.get_running_loop().time()
            for run in runs:
                run.started_at = now
            log_started(runs, now)

    def send(self, message: Message) -> None:
        if self.ready.is_set():
            self._channel.send(message)
        else:
            self._waiting.append(message)

    def quit(self) -> None:
        self.retired = True
        self._channel.send(Quit())
        if self.kind == "process":
            self.tickets.put([QUIT])

    def retire(self) -> None:
        """Take no further runs, and end when the last one has ended."""
        self.retired = True
        if not self.runs:
            self.quit()

    def kill(self) -> Coroutine[Any, Any, tuple[Survivor, ...]]:
        """Kill it with all that runs in it. It takes no further runs, and its death is no crash."""
        self.killed = self.retired = True
        return self._guard.kill(self.pid)

    def signal(self, number: signal.Signals) -> bool:
        """Signal this very process; return whether it was sent.

        A signal that runners handle is not sent to a process that removed the handler: it would
        end it.
        """
        if self._is_gone or (number in _HANDLED and not catches(self.pid, number)):
            return False
        try:
            self._process.send(number)
        except ProcessLookupError:
            return False
        return True

    async def ask_for_stack(self) -> str:
        """Return its stack, even while its code holds the interpreter's lock."""
        async with self._stack_lock:
            self.stack()
            if not self.signal(signal.SIGUSR2):
                return ""
            for _ in range(100):
                await asyncio.sleep(0.01)
                if stack := self.stack():
                    return stack
            return ""

    def stack(self) -> str:
        """Return what it wrote about its stack since the last call."""
        if self._is_gone:
            return ""
        size = os.fstat(self._stack).st_size
        stack = os.pread(self._stack, size, 0).decode(errors="replace")
        os.ftruncate(self._stack, 0)
        os.lseek(self._stack, 0, os.SEEK_SET)
        return stack

    def exited(self, how: Exit) -> None:
        """Handle the guard's message that the process and all below it are gone."""
        self._exit = how
        self._end()

    def _lose_wire(self) -> None:
        """Handle that it has ended, or sent what cannot be read and has to end."""
        self._wire_is_lost = True
        self.signal(signal.SIGKILL)
        self._end()

    def _receive(self, message: FromRunner) -> None:
        match message:
            case Hello() | Broken():
                if not self.hello.done():
                    self.hello.set_result(message)
            case Ready():
                self.ready.set()
                runs = list(self.runs.values())
                self._mark_started(runs[:1] if self.kind == "process" else runs)
                waiting, self._waiting = self._waiting, []
                for delayed in waiting:
                    self.send(delayed)
            case WornOut(why):
                self.retired = True  # before its last run ends, which would free it
                _log.info("%s (pid %d) is replaced: %s", self.name, self.pid, why)
            case _:
                self.on_message(self, message)

    def _end(self) -> None:
        self.retired = True  # from the first sign on: a new run would die with it
        if self._is_gone or not self._wire_is_lost or self._exit is None:
            return
        self._is_gone = True
        self._process.close()
        os.close(self._stack)
        self._channel.close()
        self.output.close()
        if not self.hello.done():
            self.hello.set_result(Broken(f"it ended while it was imported: {self._exit}", ""))
        self.on_lost(self, self._exit)
        self.tickets.close()


def _in_parts(works: Sequence[Work]) -> Iterator[tuple[Work, ...]]:
    """Split works, so that a stop after them on the wire does not wait for all of them."""
    part: list[Work] = []
    size = 0
    for work in works:
        part.append(work)
        size += len(work.args) + len(work.checkpoint or b"") + len(work.resume_value or b"")
        if size > _PART:
            yield tuple(part)
            part, size = [], 0
    if part:
        yield tuple(part)
