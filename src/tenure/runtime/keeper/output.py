"""What a runner writes to its standard output and error.

The keeper reads it, so that a job never waits for a reader. In a process it belongs to the job that
runs there; in a loop runner only what no job can be named for comes this way, and goes to the
worker's own log.
"""

import asyncio
import fcntl
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenure.runtime.keeper.runners import Runner

_log = logging.getLogger("tenure.worker")
_PIPE = 1 << 20
_LONGEST_LINE = 10_000

OnLine = Callable[["Runner", str, str], None]


class Output:
    def __init__(self, runner: "Runner") -> None:
        self.on_line: OnLine | None = None
        self._runner = runner
        self._readers: dict[int, str] = {}
        self._begun: dict[int, bytes] = {}

    def pipes(self) -> tuple[int, int]:
        """The descriptors for the runner."""
        writers = []
        for name in ("stdout", "stderr"):
            reader, writer = os.pipe()
            os.set_blocking(reader, False)
            with suppress(PermissionError):  # a user has so many pages of pipes and no more
                fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, _PIPE)
            self._readers[reader] = name
            self._begun[reader] = b""
            asyncio.get_running_loop().add_reader(reader, self._read, reader)
            writers.append(writer)
        return writers[0], writers[1]

    def drain(self) -> None:
        """Read what is there: it was written before whatever made us look.

        A pipe holds no more than that; somebody who goes on writing is not waited for.
        """
        for reader in list(self._readers):
            left = _PIPE
            while left > 0 and (read := self._read(reader)):
                left -= read
            if rest := self._begun.get(reader):
                self._begun[reader] = b""
                self._say(reader, rest)

    def close(self) -> None:
        self.drain()
        for reader in list(self._readers):
            self._close(reader)

    def _read(self, reader: int) -> int:
        """How many bytes there were."""
        try:
            data = os.read(reader, 1 << 16)
        except BlockingIOError:
            return 0
        if not data:
            self._close(reader)
            return 0
        *lines, rest = (self._begun[reader] + data).split(b"\n")
        self._begun[reader] = rest[:_LONGEST_LINE]
        for line in lines:
            self._say(reader, line)
        return len(data)

    def _say(self, reader: int, line: bytes) -> None:
        text = line[:_LONGEST_LINE].decode(errors="replace").replace("\0", "\\0").rstrip("\r")
        if self.on_line is not None:
            self.on_line(self._runner, self._readers[reader], text)

    def _close(self, reader: int) -> None:
        if self._readers.pop(reader, None):
            asyncio.get_running_loop().remove_reader(reader)
            os.close(reader)
            self._begun.pop(reader, None)
