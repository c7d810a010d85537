"""What processes cost, by the kernel's own books."""

from collections.abc import Mapping
from pathlib import Path

import psutil
import psycopg


def cpu(process: psutil.Process) -> float:
    """Seconds on a CPU since it was started."""
    times = process.cpu_times()
    return float(times.user + times.system)


def postmaster(connection: psycopg.Connection) -> psutil.Process:
    backend = psutil.Process(connection.info.backend_pid)
    parent = backend.parent()
    assert parent is not None
    return parent


def family_cpu(parent: psutil.Process) -> float:
    """With all its children; to a parent the kernel adds what its dead children used."""
    times = parent.cpu_times()
    total = times.user + times.system + times.children_user + times.children_system
    return float(total) + sum(_cpu_if_alive(child) for child in parent.children())


def pss(process: psutil.Process) -> float:
    """MB of memory, with what is shared divided among those who share it."""
    return parse_pss(Path(f"/proc/{process.pid}/smaps_rollup").read_text())


def parse_pss(rollup: str) -> float:
    for line in rollup.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise ValueError("there is no Pss in it")


def spent(before: Mapping[str, float], after: Mapping[str, float], jobs: int) -> dict[str, float]:
    """Microseconds for one job, from seconds for all of them."""
    return {name: (after[name] - seconds) / jobs * 1e6 for name, seconds in before.items()}


def _cpu_if_alive(process: psutil.Process) -> float:
    try:
        return cpu(process)
    except psutil.NoSuchProcess:
        return 0.0
