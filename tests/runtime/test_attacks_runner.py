"""A runner as its keeper sees it, when everything about it goes wrong."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from tenure.domain.lifecycle import Intent
from tenure.runtime.guarding import Exit, Guard
from tenure.runtime.keeper.runs.runner import Runner
from tenure.runtime.messages import (
    Ask,
    FromRunner,
    Interrupt,
    Orders,
    Ready,
    Start,
    Work,
)
from tenure.runtime.wire import Frames, frame, from_keeper


class Stage:
    """Stands in for the guard: what it starts is a program of the test's own."""

    def __init__(self, program: str = "import time; time.sleep(60)") -> None:
        self.program = program
        self.process: subprocess.Popen[bytes] | None = None
        self.wire = -1

    async def spawn(
        self, _argv: Sequence[str], *, fds: Sequence[int], stdout: int, stderr: int, **_: Any
    ) -> int:
        if not self.program:
            raise OSError("no processes left")
        self.wire = os.dup(fds[0])
        self.process = subprocess.Popen(  # noqa: ASYNC220
            [sys.executable, "-c", self.program], stdout=stdout, stderr=stderr
        )
        return self.process.pid

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        if self.wire >= 0:
            os.close(self.wire)


def work(run: int, args: bytes = b"{}") -> Work:
    return Work(
        run,
        run,
        1,
        "task",
        "default",
        args,
        1,
        1,
        0,
        0,
        "",
        1,
        None,
        None,
        None,
        None,
        None,
        5,
        True,
    )


class Runs:
    """As much of a run as a runner needs."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.runner: Runner | None = None


def heard(stage: Stage) -> list[Any]:
    os.set_blocking(stage.wire, False)
    data = b""
    try:
        while part := os.read(stage.wire, 1 << 20):
            data += part
    except BlockingIOError:
        pass
    return Frames(from_keeper).feed(data)


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def new_runner(lost: list[Exit | None] | None = None) -> Runner:
    said: list[FromRunner] = []
    return Runner(
        "runner-1",
        lambda _runner, message: said.append(message),
        lambda _runner, how: (lost if lost is not None else []).append(how),
    )


def test_a_runner_that_cannot_be_started_leaves_no_descriptor_open() -> None:
    async def main() -> None:
        before = open_descriptors()
        for _ in range(3):
            with pytest.raises(OSError, match="no processes left"):
                await new_runner().spawn(cast(Guard, Stage("")), "app", {})
        assert open_descriptors() == before

    asyncio.run(main())


def test_a_stop_follows_the_start_it_is_about() -> None:
    """Sent on its own to a runner that is not ready, it would be about an unknown run."""

    async def main() -> None:
        stage, runner = Stage(), new_runner()
        await runner.spawn(cast(Guard, stage), "app", {})
        try:
            runner.start([cast(Any, Runs(7))], [work(7)])
            runner.send(Ask(7, Orders(Intent.CANCEL, "why", "who", 30)))
            runner.send(Interrupt(7))
            await asyncio.sleep(0)
            assert heard(stage) == []
            os.write(stage.wire, frame(Ready()))
            await runner.ready.wait()
            assert [type(one) for one in heard(stage)] == [Start, Ask, Interrupt]
        finally:
            stage.close()
            runner._lose_wire()
            runner.exited(Exit(None, signal.SIGKILL))

    asyncio.run(main())


def test_a_frame_that_nobody_can_read_ends_its_runner() -> None:
    async def main() -> None:
        lost: list[Exit | None] = []
        stage, runner = Stage(), new_runner(lost)
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        await runner.spawn(cast(Guard, stage), "app", {})
        try:
            os.write(stage.wire, (3).to_bytes(4, "big") + b"\xc1\xc1\xc1")
            assert stage.process is not None
            assert await asyncio.to_thread(stage.process.wait, 10) == -signal.SIGKILL
            assert runner.retired
            assert lost == []
            runner.exited(Exit(None, signal.SIGKILL))
            assert len(lost) == 1
            # Its descriptors may be others' by now.
            runner.signal(signal.SIGUSR1)
            assert await runner.ask_for_stack() == ""
        finally:
            stage.close()

    asyncio.run(main())


def test_a_runner_that_keeps_writing_is_not_waited_for() -> None:
    """The keeper would read for ever, and its lease would end."""

    async def main() -> None:
        stage = Stage("import os\nwhile True: os.write(1, b'flood\\n' * 10000)")
        runner = new_runner()
        lines = []
        runner.output.on_line = lambda _runner, _stream, line: lines.append(line)
        await runner.spawn(cast(Guard, stage), "app", {})
        try:
            await asyncio.sleep(0.2)
            runner.output.drain()
            assert lines
        finally:
            stage.close()
            runner._lose_wire()
            runner.exited(Exit(None, signal.SIGKILL))

    asyncio.run(main())
