"""Commands that run side by side under one supervisor: their lines, their deaths, their leaving.

A command that dies is started again, after ever longer pauses. One that ends before it was ever at
work, or because its app cannot be imported, is not: its code ends them all. One that was asked to
leave is gone, and the others go on. The first signal asks them to leave, one after the other; the
second hurries them; the third kills.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence

from tenure.errors import TenureError
from tenure.runtime.leave_signals import leave_signals
from tenure.store.embedded import Embedded

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
_LOOK_EVERY = 0.5  # seconds between two looks whether the database is there
_STEADY = 60.0  # seconds after which the next pause is the first again
_LONGEST_LINE = 1 << 16
_LAST_WORDS = 1.0  # seconds, for lines of what a command that ended has started

# Codes of a worker; the server has the first two as well.
_LEFT = (0, 4, 5)
NOT_IMPORTED = 3
_HURRIED = 5  # also for one that was killed

Say = Callable[[str, str], object]  # who, and one line


class Child:
    """One command: its process, and whether it is to be there."""

    def __init__(
        self,
        name: str,
        words: Sequence[str],
        environment: Mapping[str, str],
        say: Say,
        at_work: str,
    ) -> None:
        self.name = name
        self.code: int | None = None  # of its last end; negative: by that signal
        self._words = words
        self._environment = environment
        self._say = say
        self._at_work = at_work  # what it says when it is
        self._process: asyncio.subprocess.Process | None = None
        self._was_at_work = False
        self._leaving = asyncio.Event()
        self._gone = asyncio.Event()

    async def keep(self) -> bool:
        """Run it until it is to leave, or has left; whether its end is the end of all."""
        pause = _FIRST_PAUSE
        try:
            while not self._leaving.is_set():
                began = _now()
                self.code = await self._run()
                if self._leaving.is_set():
                    break
                if self.code == NOT_IMPORTED or (self.code > 0 and not self._was_at_work):
                    return True
                if self.code in _LEFT:
                    self._say("up", f"{self.name} has left, because somebody asked it to")
                    break
                if _now() - began > _STEADY:
                    pause = _FIRST_PAUSE
                self._say("up", f"{self.name} {_ended(self.code)}; again in {pause:g} s")
                await _wait(self._leaving, pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
            return False
        finally:
            self._gone.set()

    async def leave(self) -> None:
        """Ask it to leave, and wait until it has."""
        if not self._leaving.is_set():
            self.hurry(signal.SIGTERM)
        await self._gone.wait()

    def hurry(self, number: signal.Signals) -> None:
        """Let it leave, by this signal, without waiting for it."""
        self._leaving.set()
        self._signal(number)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)

    async def _run(self) -> int:
        # A pipe of our own: asyncio takes a process for alive as long as anybody holds its output.
        reading, writing = os.pipe()
        try:
            self._process = process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tenure.cli.supervised",
                str(os.getpid()),
                *self._words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                env=self._environment,
                start_new_session=True,  # a Ctrl-C in the terminal is for the supervisor alone
            )
        finally:
            os.close(writing)
        if self._leaving.is_set():
            self._signal(signal.SIGTERM)
        output = asyncio.StreamReader()
        way, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(output), os.fdopen(reading, "rb")
        )
        telling = asyncio.create_task(self._tell(output))
        code = await process.wait()
        await asyncio.wait({telling}, timeout=_LAST_WORDS)
        telling.cancel()
        way.close()
        return code

    async def _tell(self, output: asyncio.StreamReader) -> None:
        rest = b""
        while piece := await output.read(_LONGEST_LINE):
            *lines, rest = (rest + piece).split(b"\n")
            if len(rest) > _LONGEST_LINE:
                lines, rest = [*lines, rest], b""
            for line in lines:
                self._hear(line)
        if rest:
            self._hear(rest)

    def _hear(self, said: bytes) -> None:
        line = said.decode(errors="replace")
        self._was_at_work = self._was_at_work or self._at_work in line
        self._say(self.name, line)


class Database:
    """The embedded PostgreSQL, which is nobody's child: started again when it has died."""

    def __init__(self, embedded: Embedded, say: Say) -> None:
        self._embedded = embedded
        self._say = say

    async def keep(self) -> None:
        """Look after it until this task is cancelled."""
        pause, began = _FIRST_PAUSE, _now()
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            if self._embedded.is_alive:
                continue
            if _now() - began > _STEADY:
                pause = _FIRST_PAUSE
            self._say("up", f"the database has died; again in {pause:g} s")
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
            began = _now()
            try:
                await asyncio.to_thread(self._embedded.revive)
            except TenureError as problem:
                self._say("up", f"the database cannot be started: {problem}")
            else:
                self._say("up", "the database runs again")


class Supervisor:
    """Keeps some children; they leave in the order in which they are given."""

    def __init__(self, children: Sequence[Child], on_leaving: Callable[[int], object]) -> None:
        self._children = children
        self._on_leaving = on_leaving
        self._asked = 0
        self._leaving = asyncio.Event()

    async def run(self) -> int:
        """Until somebody asks, or a child cannot begin; the code that says how it went."""
        with leave_signals(lambda _number: self.ask()):
            return await self._run()

    async def _run(self) -> int:
        keeping = {asyncio.create_task(child.keep()): child for child in self._children}
        leaving = asyncio.create_task(self._leaving.wait())
        there, broken = set(keeping), None
        while there and broken is None and not self._leaving.is_set():
            done, _ = await asyncio.wait({*there, leaving}, return_when="FIRST_COMPLETED")
            broken = next((keeping[task] for task in done & there if task.result()), None)
            there -= done
        for child in self._children:
            await child.leave()
        leaving.cancel()
        codes = [child.code or 0 for child in ([broken] if broken else self._children)]
        if -signal.SIGKILL in codes:
            return _HURRIED
        return next((code for code in codes if code > 0), 0)

    def ask(self) -> None:
        """Ask all to leave; asked again, hurry, and then kill."""
        self._asked += 1
        self._on_leaving(self._asked)
        self._leaving.set()
        if self._asked > 1:
            for child in self._children:
                child.hurry(signal.SIGTERM if self._asked == 2 else signal.SIGKILL)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


def _now() -> float:
    return asyncio.get_running_loop().time()


def _ended(code: int) -> str:
    if code >= 0:
        return f"ended with code {code}"
    return f"was killed by {signal.Signals(-code).name}"
