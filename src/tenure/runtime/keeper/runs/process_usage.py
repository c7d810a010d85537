"""CPU and memory of processes, read from /proc."""

import os
from collections.abc import Iterable, Iterator

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
