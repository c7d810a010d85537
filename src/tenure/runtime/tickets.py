"""The runs that a process runner is to begin, in order.

The queue is a pipe that both the runner and its keeper read: the kernel gives each ticket to one of
them. So a run either begins or is taken back, and the keeper can take back what has not begun
although the runner is busy, frozen or dead.
"""

import os
import select
from collections.abc import Iterable

from tenure.runtime.guard.system import make_pipe

_SIZE = 8  # bytes of a ticket; a pipe holds 8192 of them
QUIT = 0  # the ticket after which nothing follows


class Tickets:
    def __init__(self, reader: int, writer: int = -1) -> None:
        self.reader = reader
        self._writer = writer

    @classmethod
    def create(cls) -> "Tickets":
        return cls(*make_pipe())

    def put(self, runs: Iterable[int]) -> None:
        if self._writer >= 0:
            os.write(self._writer, b"".join(run.to_bytes(_SIZE, "little") for run in runs))

    def take(self) -> int | None:
        """Return the next ticket; None if there is none."""
        if self.reader < 0:
            return None
        try:
            ticket = os.read(self.reader, _SIZE)
        except BlockingIOError:
            return None
        return int.from_bytes(ticket, "little")

    def wait(self) -> int:
        """Wait for the next ticket."""
        waiting = select.poll()
        waiting.register(self.reader, select.POLLIN)
        while (run := self.take()) is None:
            waiting.poll()
        return run

    def take_all(self) -> list[int]:
        taken = []
        while (run := self.take()) is not None:
            taken.append(run)
        return taken

    def close(self) -> None:
        """Close the pipe; from now on there are no tickets."""
        os.close(self.reader)
        os.close(self._writer)
        self.reader = self._writer = -1  # the numbers may be used for other files
