"""CPU and memory of processes, read from /proc or by psutil."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from tenure.domain.inspection import Process
from tenure.runtime.guard.processes import (
    DEAD,
    attempt_of,
    family,
    folder_of,
    read,
    stat,
    state,
)
from tenure.runtime.guard.system import PORTABLE

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_CPU, _RESIDENT = slice(11, 13), 21  # in /proc/<pid>/stat, counted from the state
_STATES = {
    "R": "running",
    "S": "sleeping",
    "D": "waiting for a device",
    "I": "idle",
    "T": "stopped",
    "t": "traced",
}


def measure(pids: Iterable[int]) -> Iterator[Process]:
    """Yield the usage of those that are alive."""
    if PORTABLE:
        yield from _measure_portably(pids)
        return
    for pid in pids:
        letter = state(pid)
        name, fields = _stat_fields(f"/proc/{pid}")
        # When the main thread has ended, only the other threads have the memory.
        _, in_memory = _stat_fields(folder_of(pid))
        if letter not in DEAD and fields and in_memory:
            yield Process(
                pid,
                name.decode(errors="replace"),
                _STATES.get(letter, letter),
                sum(map(int, fields[_CPU])) / _TICKS,
                int(in_memory[_RESIDENT]) * _PAGE,
            )


def _measure_portably(pids: Iterable[int]) -> Iterator[Process]:
    for pid in pids:
        with suppress(psutil.Error):
            process, letter = psutil.Process(pid), state(pid)
            times = process.cpu_times()
            cpu, memory = times.user + times.system, process.memory_info().rss
            yield Process(pid, process.name(), _STATES.get(letter, letter), cpu, memory)


def memory_of(pid: int) -> int | None:
    """Return the resident bytes of a process; None if it is gone."""
    if PORTABLE:
        return next((process.memory for process in measure([pid])), None)
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except OSError:
        return None


def cpu_seconds(pid: int) -> float:
    """Return the processor time of a process; 0 if it is gone."""
    if PORTABLE:
        return next((process.cpu_seconds for process in measure([pid])), 0.0)
    return sum(map(int, _stat_fields(f"/proc/{pid}")[1][_CPU])) / _TICKS


def _stat_fields(folder: str) -> tuple[bytes, list[bytes]]:
    """Return the name in a stat file of /proc and all that follows it; nothing if it is gone."""
    name, _, rest = read(f"{folder}/stat").rpartition(b")")
    return name.partition(b"(")[2], rest.split()


def started_by(run: int, runner: int, known: Iterable[int]) -> list[int]:
    """Return the processes that one run of a shared runner has started: the known ones, those that
    carry its mark, and all below them."""
    started = set(known)
    found = []
    for pid in family(runner):
        seen = stat(pid)
        if seen is None or pid == runner:
            continue
        if pid in started or seen.parent in started or attempt_of(pid) == str(run):
            started.add(pid)
            found.append(pid)
    return found
