"""What the processes of a job take, by /proc alone."""

import os
from collections.abc import Iterable, Iterator

from tenure.domain.look import Process
from tenure.runtime.guard.processes import ATTEMPT, DEAD, carries, family, read, stat

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


def measured(pids: Iterable[int]) -> Iterator[Process]:
    """Those of them that are alive."""
    for pid in pids:
        name, bracket, rest = read(f"/proc/{pid}/stat").rpartition(b")")
        if not bracket:
            continue
        fields = rest.split()
        state = fields[0].decode()
        if state not in DEAD:
            yield Process(
                pid,
                name.partition(b"(")[2].decode(errors="replace"),
                _STATES.get(state, state),
                sum(map(int, fields[_CPU])) / _TICKS,
                int(fields[_RESIDENT]) * _PAGE,
            )


def started_by(run: int, runner: int, known: Iterable[int]) -> list[int]:
    """What one run of a shared runner has started: what is known of it, what carries its mark, and
    all below."""
    ours = set(known)
    found = []
    for pid in family(runner):
        seen = stat(pid)
        if seen is None or pid == runner:
            continue
        if pid in ours or seen.parent in ours or carries(pid, ATTEMPT, str(run)):
            ours.add(pid)
            found.append(pid)
    return found
