"""Event loops that do not turn although no job holds them."""

import asyncio
import os
from typing import NamedTuple
from weakref import WeakKeyDictionary

from tenure.runtime.guard.processes import DEAD, is_alive, read, stat
from tenure.runtime.keeper.runners import Runner

_PATIENCE = 10.0  # seconds for a loop that waits
_BUSY_PATIENCE = 60.0  # for one whose process is at work: C code may keep the interpreter's lock
_BUSY = 0.1  # of a processor
_LONGEST_PAUSE = 3.0  # seconds between two looks that count as one watch
_TICKS = os.sysconf("SC_CLK_TCK")


class _Watched(NamedTuple):
    stamp: int
    since: float
    seen_at: float
    cpu: float


class Silence:
    """Measured by this worker's own looks, so that neither counts while both were frozen."""

    def __init__(self) -> None:
        self._watched: WeakKeyDictionary[Runner, _Watched] = WeakKeyDictionary()

    def is_dead(self, runner: Runner) -> bool:
        """Tell whether the loop of a runner has ended, or has been silent for too long."""
        main = stat(runner.pid)
        if main is not None and main.state in DEAD and is_alive(runner.pid):
            return True  # its main thread has ended, and others keep the process
        now, stamp = asyncio.get_running_loop().time(), runner.page.stamp
        before = self._watched.get(runner)
        if not stamp or runner.page.on_cpu in runner.runs:
            self._watched.pop(runner, None)
            return False
        cpu = _cpu_seconds(runner.pid)
        if before is None or before.stamp != stamp or now - before.seen_at > _LONGEST_PAUSE:
            self._watched[runner] = _Watched(stamp, now, now, cpu)
            return False
        self._watched[runner] = before._replace(seen_at=now)
        silent = now - before.since
        # One that could run and is not let is busy, too: the machine is.
        is_busy = cpu - before.cpu > silent * _BUSY or (main is not None and main.state == "R")
        if is_busy:
            return runner.kind == "async" and silent > _BUSY_PATIENCE
        return silent > _PATIENCE


def _cpu_seconds(pid: int) -> float:
    fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return sum(map(int, fields[11:13])) / _TICKS
