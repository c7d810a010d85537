"""Control groups, where available: a single write kills every process in a group.

Only version 2 is used, and only below our own group: as root, or where systemd delegates.
"""
# pathlib would make the guard larger.
# ruff: noqa: PTH102, PTH106, PTH110, PTH112, PTH118, PTH208

import os
import time
from contextlib import suppress

from .processes import read


def _own_group() -> str | None:
    """Return the folder of the group that this process is in."""
    lines = read("/proc/self/cgroup").decode().splitlines()
    own = next((line[3:] for line in lines if line.startswith("0::")), None)
    if own is None:
        return None
    for line in read("/proc/self/mountinfo").decode().splitlines():
        before, _, after = line.partition(" - ")
        root, mount = before.split()[3:5]
        if after.startswith("cgroup2 ") and f"{own}/".startswith(root.rstrip("/") + "/"):
            return os.path.join(mount, os.path.relpath(own, root)).removesuffix("/.")
    return None


class ControlGroup:
    """One control group."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def make(self) -> "ControlGroup":
        with suppress(FileExistsError):
            os.mkdir(self.folder, 0o755)
        return self

    def enter(self) -> None:
        """Move this process into the group; its children start there."""
        self._write("cgroup.procs", b"0")

    def kill(self) -> None:
        with suppress(OSError):
            self._write("cgroup.kill", b"1")

    def pids(self) -> list[int]:
        return [int(pid) for pid in read(f"{self.folder}/cgroup.procs").split()]

    def is_empty(self) -> bool:
        """Tell whether no process lives in the group or below it."""
        return b"populated 1" not in read(f"{self.folder}/cgroup.events")

    def remove(self) -> None:
        """Remove the group, and groups that job code made below it."""
        with suppress(OSError):
            for name in os.listdir(self.folder):
                if os.path.isdir(f"{self.folder}/{name}"):
                    ControlGroup(f"{self.folder}/{name}").remove()
            os.rmdir(self.folder)

    def below(self, name: str) -> "ControlGroup":
        return ControlGroup(f"{self.folder}/{name}")

    def _write(self, name: str, content: bytes) -> None:
        fd = os.open(f"{self.folder}/{name}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, content)
        finally:
            os.close(fd)


def of_worker(marker: str) -> ControlGroup | None:
    """Return the group of a worker's runners, whether or not it exists."""
    own = _own_group()
    return ControlGroup(f"{own}/tenure-{marker}") if own else None


def open_for(marker: str) -> ControlGroup | None:
    """Make the worker's group and test it; return None if groups cannot be used."""
    group = of_worker(marker)
    if group is None:
        return None
    try:
        group.make()
        trial = group.below("trial").make()
    except OSError:
        return None
    try:
        works = os.path.exists(f"{trial.folder}/cgroup.kill") and _can_be_entered(trial)
    finally:
        trial.remove()
    if works:
        return group
    group.remove()
    return None


def _can_be_entered(group: ControlGroup) -> bool:
    child = os.fork()
    if child == 0:
        try:
            group.enter()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def clear(marker: str, patience: float = 2.0) -> None:
    """Kill the processes in a dead worker's groups, and remove the groups."""
    group = of_worker(marker)
    if group is None or not os.path.isdir(group.folder):
        return
    until = time.monotonic() + patience
    while not group.is_empty() and time.monotonic() < until:
        group.kill()
        time.sleep(0.002)
    group.remove()
