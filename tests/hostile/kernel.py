"""The kernel's list of processes and threads, read without trusting the state of a leader."""

import os
import signal
from pathlib import Path

_ENDED = {"Z", "X", "x"}


def threads_of(pid: int) -> list[int]:
    """Return the living threads of a process; its leader may be a zombie while others run."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []
    return [int(task.name) for task in tasks if _state(task / "stat") not in _ENDED]


def is_alive(pid: int) -> bool:
    return bool(threads_of(pid))


def has_thread(pid: int, thread: int) -> bool:
    return thread in threads_of(pid)


def _state(stat: Path) -> str:
    try:
        return stat.read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def kill_if_ours(pid: int, folder: Path) -> None:
    """Kill a process that belongs to the worker of this folder; its pid may be another's by now."""
    for thread in threads_of(pid):
        place = Path(f"/proc/{pid}/task/{thread}")
        try:
            told = (place / "cmdline").read_bytes() + (place / "environ").read_bytes()
            if str(folder).encode() in told:
                os.kill(pid, signal.SIGKILL)
        except OSError:
            continue
