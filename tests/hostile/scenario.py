"""A kind in one executor and one way to end, and what was seen of it from outside."""

import os
import socket
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pytest

from tests.apps.hostile.beats import Here
from tests.apps.hostile.kinds import Executor, Group, Kind, all_kinds
from tests.hostile.kernel import has_thread, is_alive, kill_if_ours

Way = Literal["graceful", "forced", "completes"]

ALL = os.environ.get("TENURE_TEST_HOSTILE") == "all"
GRANULARITY = 5_000_000  # ns; two clocks of one machine may differ by a tick
QUIET = 0.5  # seconds in which nothing may grow


@dataclass(frozen=True)
class Scenario:
    kind: Kind
    executor: Executor
    way: Way

    def __str__(self) -> str:
        return f"{self.kind.name}-{self.executor}-{self.way}"


def stops(group: Group, *executors: Executor) -> list[Scenario]:
    """Return the kinds of a group in each of their executors, or only in these, stopped.

    In an event loop each is stopped gracefully and by force; elsewhere by turns, unless
    TENURE_TEST_HOSTILE=all.
    """
    both: tuple[Way, Way] = ("graceful", "forced")
    chosen = []
    for turn, kind in enumerate(_kinds(group)):
        for place, executor in enumerate(kind.executors):
            if executors and executor not in executors:
                continue
            ways = both if executor == "async" or ALL else (both[(turn + place) % 2],)
            chosen += [Scenario(kind, executor, way) for way in ways if kind.stays]
    return chosen


def completions(group: Group, *executors: Executor) -> list[Scenario]:
    """Return the kinds of a group in these of their executors, not stopped.

    In an event loop all; elsewhere in one executor by turns, unless TENURE_TEST_HOSTILE=all.
    """
    chosen = []
    for turn, kind in enumerate(_kinds(group)):
        for place, executor in enumerate(kind.executors):
            its_turn = executor == "async" or (turn + place) % 2 == 0 or ALL
            if executor in executors and its_turn:
                chosen.append(Scenario(kind, executor, "completes"))
    return chosen


def _kinds(group: Group) -> list[Kind]:
    return [kind for kind in all_kinds().values() if kind.group == group]


@dataclass
class Traces:
    """Traces that the code of a scenario has left in files and in the kernel."""

    folder: Path
    number: int

    @property
    def here(self) -> Here:
        return Here(self.folder, self.number)

    @property
    def is_ready(self) -> bool:
        return Path(self.here.readiness).exists()

    def beats(self) -> list[tuple[int, int, int]]:
        """Return time, pid and thread of each beat; a last line that is not whole is left out."""
        rows = [line.split() for line in _lines(self.here.beats)]
        numbers = [row for row in rows if len(row) == 3 and all(map(str.isdigit, row))]
        return [(int(row[0]), int(row[1]), int(row[2])) for row in numbers]

    def pids(self) -> set[int]:
        """Return every process its code was in, except the runners."""
        runners = {int(line) for line in _lines(self.here.runners)}
        return {pid for _, pid, _ in self.beats()} - runners

    def living(self) -> list[str]:
        """Name the processes, threads and ports that are still there."""
        found = [f"process {pid}" for pid in sorted(self.pids()) if is_alive(pid)]
        for line in _lines(self.here.threads):
            pid, thread = map(int, line.split())
            if has_thread(pid, thread):
                found.append(f"thread {thread} of process {pid}")
        return found + [f"port {port}" for port in _lines(self.here.ports) if _is_open(int(port))]

    def kill_runners(self) -> None:
        """Kill the runners it was in, so that what it did to them reaches no other scenario."""
        for line in _lines(self.here.runners):
            kill_if_ours(int(line), self.folder)

    def grows(self) -> bool:
        """Return whether the file of beats grows while nothing should be left."""
        before = self._size()
        time.sleep(QUIET)
        return self._size() > before

    def _size(self) -> int:
        path = Path(self.here.beats)
        return path.stat().st_size if path.exists() else 0

    def later_than(self, moment: datetime) -> list[float]:
        """Return by how many milliseconds each late beat is late."""
        limit = _nanoseconds(moment)
        late = [at - limit for at, _, _ in self.beats() if at > limit + GRANULARITY]
        return [round(one / 1e6, 1) for one in late]


def _nanoseconds(moment: datetime) -> int:
    whole = moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return ((whole.days * 86400 + whole.seconds) * 1_000_000 + whole.microseconds) * 1000


def _lines(path: str) -> list[str]:
    try:
        text = Path(path).read_text()
    except FileNotFoundError:
        return []
    return text.split("\n")[:-1]


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.2)
        return probe.connect_ex(("127.0.0.1", port)) == 0


@dataclass
class Evidence:
    """A list of the promises that did not hold; empty if all did."""

    broken: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Fail with everything that did not hold, and nothing else."""
        if self.broken:
            pytest.fail("\n".join(self.broken), pytrace=False)

    def claim(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.broken.append(otherwise)
