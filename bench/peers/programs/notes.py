"""What jobs tell the measuring process: how many ran, and what happened when.

Every process of a machine shares this clock. A counter is a small file that is mapped into memory:
to count one job costs the same microsecond with every peer.
"""

import mmap
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_COUNTER = struct.Struct("<q")

now = time.monotonic


class Event(NamedTuple):
    what: str
    key: str
    at: float
    pid: int


class Notes:
    """A folder in memory."""

    def __init__(self, folder: Path, worker: str = "0") -> None:
        self.folder = folder
        self._worker = worker
        self._events = folder / "events"
        self._pid = 0
        self._jobs = 0

    def count(self) -> None:
        """One more job that ran in this process."""
        if self._pid != os.getpid():  # a child that is forked has a counter of its own
            self._open()
        self._jobs += 1
        _COUNTER.pack_into(self._memory, 0, self._jobs)

    def counted(self) -> dict[str, int]:
        """By worker."""
        found: dict[str, int] = {}
        for file in self.folder.glob("count-*"):
            raw = file.read_bytes()
            if len(raw) == _COUNTER.size:
                worker = file.name.split("-")[1]
                found[worker] = found.get(worker, 0) + _COUNTER.unpack(raw)[0]
        return found

    def note(self, what: str, key: object) -> None:
        line = f"{what} {key} {now():.7f} {os.getpid()}\n".encode()
        events = os.open(self._events, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(events, line)
        finally:
            os.close(events)

    def noted(self, what: str, key: object | None = None) -> Iterator[Event]:
        if self._events.exists():
            for line in self._events.read_text().splitlines():
                name, of, at, pid = line.split()
                if name == what and (key is None or of == str(key)):
                    yield Event(name, of, float(at), int(pid))

    def first(self, what: str, key: object) -> Event | None:
        return next(self.noted(what, key), None)

    def wait_for(self, what: str, key: object, seconds: float) -> Event | None:
        end = now() + seconds
        while now() < end:
            if (event := self.first(what, key)) is not None:
                return event
            time.sleep(0.002)
        return None

    def forget(self) -> None:
        for file in self.folder.glob("*"):
            file.unlink()

    def _open(self) -> None:
        self._pid = os.getpid()
        self._jobs = 0
        with (self.folder / f"count-{self._worker}-{self._pid}").open("w+b") as file:
            file.truncate(_COUNTER.size)
            self._memory = mmap.mmap(file.fileno(), _COUNTER.size)


ours = Notes(Path(os.environ.get("BENCH_NOTES", ".")), os.environ.get("BENCH_WORKER", "0"))
