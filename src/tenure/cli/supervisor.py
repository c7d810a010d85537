"""A supervisor of child processes that run ``tenure`` commands.

A child that dies is restarted, after increasing pauses. A child that ends before it was ready, or
because its app cannot be imported, ends all of them with its exit code. A child that was asked to
exit is not restarted, and the others continue. The first signal asks the children to exit, one
after the other; the second makes them hurry; the third kills them.

``python -m tenure.cli.supervisor PID worker APP`` is such a child: the kernel kills it with its
supervisor, however that dies. The worker's guard then ends what the worker has started.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tenure.errors import TenureError
from tenure.runtime.exit_code import ExitCode
from tenure.runtime.leave_signals import leave_signals
from tenure.store.embedded import Embedded

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
_CHECK_INTERVAL = 0.5  # seconds between two checks of the database
_STEADY = 60.0  # seconds of running after which pauses start over
_MAX_LINE = 1 << 16
_FLUSH_TIMEOUT = 1.0  # seconds, for output of processes that the child started

_EXITED = (ExitCode.DRAINED, ExitCode.HANDED_OVER, ExitCode.HURRIED)

Log = Callable[[str, str], object]  # the source of a line, and the line


@dataclass(eq=False)
class Child:
    """A command in a child process, which is restarted until it is asked to exit."""

    name: str
    words: Sequence[str]
    environment: Mapping[str, str]
    log: Log
    ready: str  # text in the line that it logs when it is ready

    def __post_init__(self) -> None:
        self.code: int | None = None  # of the last exit; negative: killed by that signal
        self._process: asyncio.subprocess.Process | None = None
        self._was_ready = False
        self._leaving = asyncio.Event()
        self._gone = asyncio.Event()

    async def keep(self) -> bool:
        """Run the child until it exits on request; tell whether all others must end too."""
        pause = _FIRST_PAUSE
        try:
            while not self._leaving.is_set():
                began = _now()
                self.code = await self._run()
                if self._leaving.is_set():
                    break
                if self.code == ExitCode.NOT_IMPORTED or (self.code > 0 and not self._was_ready):
                    return True
                if self.code in _EXITED:
                    self.log("up", f"{self.name} has exited as requested")
                    break
                if _now() - began > _STEADY:
                    pause = _FIRST_PAUSE
                self.log("up", f"{self.name} {_ended(self.code)}; restarting in {pause:g} s")
                await _wait(self._leaving, pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
            return False
        finally:
            self._gone.set()

    async def leave(self) -> None:
        """Ask the child to exit, and wait until it has."""
        if not self._leaving.is_set():
            self.hurry(signal.SIGTERM)
        await self._gone.wait()

    def hurry(self, number: signal.Signals) -> None:
        """Send this signal, and do not restart the child."""
        self._leaving.set()
        self._signal(number)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)

    async def _run(self) -> int:
        # A pipe of our own: asyncio waits as long as any process holds its own pipe open.
        reading, writing = os.pipe()
        try:
            self._process = process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tenure.cli.supervisor",
                str(os.getpid()),
                *self.words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                env=self.environment,
                start_new_session=True,  # Ctrl-C in the terminal is for the supervisor only
            )
        finally:
            os.close(writing)
        if self._leaving.is_set():
            self._signal(signal.SIGTERM)
        output = asyncio.StreamReader()
        way, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(output), os.fdopen(reading, "rb")
        )
        reader = asyncio.create_task(self._read(output))
        code = await process.wait()
        await asyncio.wait({reader}, timeout=_FLUSH_TIMEOUT)
        reader.cancel()
        way.close()
        return code

    async def _read(self, output: asyncio.StreamReader) -> None:
        rest = b""
        while piece := await output.read(_MAX_LINE):
            *lines, rest = (rest + piece).split(b"\n")
            if len(rest) > _MAX_LINE:
                lines, rest = [*lines, rest], b""
            for line in lines:
                self._log_line(line)
        if rest:
            self._log_line(rest)

    def _log_line(self, raw: bytes) -> None:
        line = raw.decode(errors="replace")
        self._was_ready = self._was_ready or self.ready in line
        self.log(self.name, line)


class DatabaseKeeper:
    """Restarts the embedded PostgreSQL, which is no child process, when it has died."""

    def __init__(self, embedded: Embedded, log: Log) -> None:
        self._embedded = embedded
        self._log = log

    async def keep(self) -> None:
        """Check and restart the database until this task is cancelled."""
        pause, began = _FIRST_PAUSE, _now()
        while True:
            await asyncio.sleep(_CHECK_INTERVAL)
            if self._embedded.is_alive:
                continue
            if _now() - began > _STEADY:
                pause = _FIRST_PAUSE
            self._log("up", f"the database has died; restarting in {pause:g} s")
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
            began = _now()
            try:
                await asyncio.to_thread(self._embedded.revive)
            except TenureError as problem:
                self._log("up", f"the database cannot be started: {problem}")
            else:
                self._log("up", "the database is running again")


class Supervisor:
    """Runs children, which exit in the order given."""

    def __init__(self, children: Sequence[Child], on_leaving: Callable[[int], object]) -> None:
        self._children = children
        self._on_leaving = on_leaving
        self._asked = 0
        self._leaving = asyncio.Event()

    async def run(self) -> int:
        """Run until a signal, or until a child cannot start; return the exit code."""
        with leave_signals(lambda _number: self.ask()):
            return await self._run()

    async def _run(self) -> int:
        keeping = {asyncio.create_task(child.keep()): child for child in self._children}
        leaving = asyncio.create_task(self._leaving.wait())
        running, broken = set(keeping), None
        while running and broken is None and not self._leaving.is_set():
            done, _ = await asyncio.wait({*running, leaving}, return_when="FIRST_COMPLETED")
            broken = next((keeping[task] for task in done & running if task.result()), None)
            running -= done
        for child in self._children:
            await child.leave()
        leaving.cancel()
        codes = [child.code or 0 for child in ([broken] if broken else self._children)]
        if -signal.SIGKILL in codes:
            return ExitCode.HURRIED  # also if a child was killed
        return next((code for code in codes if code > 0), 0)

    def ask(self) -> None:
        """Ask all children to exit; the second time, make them hurry; the third, kill them."""
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


def main() -> None:
    """Run a command as a child of the supervisor with this process id."""
    supervisor = int(sys.argv.pop(1))
    if sys.platform == "linux":
        from tenure.runtime.guard.processes import die_with_parent

        die_with_parent()
    if os.getppid() != supervisor:
        sys.exit(1)  # the supervisor died before the kernel watched it
    sys.argv[0] = "tenure"
    if sys.argv[1:3] == ["worker", "run"]:  # nothing of the command line is needed for it
        from tenure.cli.keeper import run_app

        sys.exit(run_app(sys.argv[3]))
    from tenure.cli.main import run

    run()


if __name__ == "__main__":
    main()
