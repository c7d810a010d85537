"""The standard output and error of a runner.

The keeper reads them, so that a job never waits for a reader. In a process runner they belong to
the job that runs there; a loop runner writes only what belongs to no job, for the worker's log.
"""

import asyncio
import fcntl
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenure.runtime.keeper.runs.runner import Runner

_log = logging.getLogger("tenure.worker")
_PIPE = 1 << 20
_LONGEST_LINE = 10_000

OnLine = Callable[["Runner", str, str], None]


def log_line(runner: "Runner", stream: str, line: str) -> None:
    _log.info("%s %s: %s", runner.name, stream, line)


class RunnerOutput:
    def __init__(self, runner: "Runner") -> None:
        self.on_line: OnLine = log_line
        self._runner = runner
        self._readers: dict[int, str] = {}
        self._unfinished: dict[int, bytes] = {}  # by descriptor: the line that has begun

    def pipes(self) -> tuple[int, int]:
        """Return the descriptors for the runner."""
        writers = []
        for name in ("stdout", "stderr"):
            reader, writer = os.pipe()
            os.set_blocking(reader, False)
            # The memory for pipes is limited for each user; macOS has one size.
            with suppress(PermissionError, AttributeError):
                fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, _PIPE)
            self._readers[reader] = name
            self._unfinished[reader] = b""
            asyncio.get_running_loop().add_reader(reader, self._read, reader)
            writers.append(writer)
        return writers[0], writers[1]

    def drain(self) -> None:
        """Read what was written before this call.

        Reads at most what a pipe holds: a process may keep writing.
        """
        for reader in list(self._readers):
            left = _PIPE
            while left > 0 and (read := self._read(reader)):
                left -= read
            if rest := self._unfinished.get(reader):
                self._unfinished[reader] = b""
                self._handle(reader, rest)
                self._runner.page.has_output = any(self._unfinished.values())

    def close(self) -> None:
        self.drain()
        for reader in list(self._readers):
            self._close(reader)

    def _read(self, reader: int) -> int:
        """Return how many bytes were read."""
        self._runner.page.has_output = True  # before it is read, so that the runner waits
        try:
            data = os.read(reader, 1 << 16)
        except BlockingIOError:
            data = None
        if not data:
            if data is not None:
                self._close(reader)
            self._runner.page.has_output = any(self._unfinished.values())
            return 0
        *lines, rest = (self._unfinished[reader] + data).split(b"\n")
        self._unfinished[reader] = rest[:_LONGEST_LINE]
        for line in lines:
            self._handle(reader, line)
        self._runner.page.has_output = any(self._unfinished.values())
        return len(data)

    def _handle(self, reader: int, line: bytes) -> None:
        decoded = line[:_LONGEST_LINE].decode(errors="replace")
        cleaned = decoded.replace("\0", "\\0").rstrip("\r")
        self.on_line(self._runner, self._readers[reader], cleaned)

    def _close(self, reader: int) -> None:
        if self._readers.pop(reader, None):
            asyncio.get_running_loop().remove_reader(reader)
            os.close(reader)
            self._unfinished.pop(reader, None)
