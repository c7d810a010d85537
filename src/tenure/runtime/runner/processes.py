"""The processes below a runner and their owners.

All jobs of a loop runner share its process, so ancestry alone does not tell the owner of a child.
Every way in which Python starts a process is wrapped here: the pid is noted with its owner, and the
child carries a mark by which its descendants are found when they have left the tree. A process that
is forked without exec carries the mark in its copy of the runner's initial environment.
"""

import _posixsubprocess
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from tenure.runtime.guard.processes import (
    ATTEMPT,
    ROOM_FOR_ATTEMPT,
    attempt_of,
    family,
    is_alive,
    orphans_of,
    send,
    started_at,
    stat,
)
from tenure.runtime.guard.system import PORTABLE, has_children
from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.runner.owners import RUNNER, Owner, owner

_ENVIRONMENT = 5  # the index of the environment among the arguments of fork_exec
_OF_RUNNER = "runner"
_MANY = 1000


class Processes:
    """All processes below this one."""

    def __init__(self) -> None:
        self._address = _address_of_mark()
        self.begin()

    def begin(self) -> None:
        """Begin in this process, which may be a fork of the one that made this object."""
        self.started: set[int] = set()  # by Python code, which waits for them
        self._owners: dict[int, Owner] = {}  # by pid
        self._attempts: dict[str, Attempt] = {}  # by mark, of those that started any
        self._marks: set[str] = set()  # of all attempts that ever started any
        self._pid = os.getpid()

    def watch(self) -> None:
        """Note the owner of every process that Python starts from now on."""
        _posixsubprocess.fork_exec = self._fork_exec(_posixsubprocess.fork_exec)
        subprocess._fork_exec = _posixsubprocess.fork_exec  # type: ignore[attr-defined]
        os.fork = self._noting(os.fork)
        os.forkpty = self._noting_terminal(os.forkpty)
        os.posix_spawn = self._spawn(os.posix_spawn)
        os.posix_spawnp = self._spawn(os.posix_spawnp)
        os.system = _system
        os.register_at_fork(after_in_child=self._mark_child)

    def note(self, pid: int, of: Owner | None = None) -> None:
        """Note that the calling code, or this owner, started a process."""
        if os.getpid() != self._pid:
            return
        self.started.add(pid)
        of = of or owner()
        if of is None:
            return
        if len(self._owners) >= _MANY:
            self._living()  # forgets processes that are gone
        self._owners[pid] = of
        if isinstance(of, Attempt):
            of.pids.add(pid)
            mark = _mark_of(of)
            self._attempts[mark] = of
            self._marks.add(mark)

    def forget(self, attempt: Attempt) -> None:
        """Forget an attempt that has ended; its mark still belongs to no other attempt."""
        self._attempts.pop(str(attempt.work.run), None)

    def of(self, attempt: Attempt) -> list[int]:
        """Return the living processes of an attempt."""
        return [pid for pid, owner in self._living() if owner is attempt]

    def of_jobs(self) -> list[int]:
        """Return the living processes that are not known to belong to the runner."""
        return [pid for pid, owner in self._living() if owner is not RUNNER]

    def unknown(self) -> dict[int, float]:
        """Return the living processes without a known owner, each with its start time."""
        times = {pid: started_at(pid) for pid, owner in self._living() if owner is None}
        return {pid: at for pid, at in times.items() if at is not None}

    def end(self, attempt: Attempt, grace: float) -> None:
        """End all processes of an attempt. This blocks: call it in a thread."""
        end_all(lambda: self.of(attempt), grace)

    def _living(self) -> list[tuple[int, Owner | Literal["ended"] | None]]:
        strays = orphans_of(self._pid) if PORTABLE and self._marks else []
        if not strays and not has_children():
            self._owners.clear()
            return []
        below = [*(pid for pid in family(self._pid) if pid != self._pid), *strays]
        self._owners = {pid: self._owners[pid] for pid in below if pid in self._owners}
        return [(pid, self._owner_of(pid)) for pid in below if is_alive(pid)]

    def _owner_of(self, pid: int) -> Owner | Literal["ended"] | None:
        """Find the owner by the note of its start, by its mark, or by those of its parents.

        A child of the runner's own processes is not the runner's: a call in a pool may start it.
        """
        first = pid
        while pid not in (self._pid, 0):
            found = self._owners.get(pid) or self._marked(pid)
            if found is not None:
                return found if found is not RUNNER or pid == first else None
            seen = stat(pid)
            pid = seen.parent if seen else 0
        return None

    def _marked(self, pid: int) -> Owner | Literal["ended"] | None:
        mark = attempt_of(pid)
        return self._attempts.get(mark, "ended" if mark in self._marks else None)

    def _fork_exec(self, fork_exec: Callable[..., int]) -> Callable[..., int]:
        def marked_fork_exec(*args: Any) -> int:
            started_by = owner()
            if started_by is None:
                pid = fork_exec(*args)
                self.note(pid)
                return pid
            marked = list(args)
            environment = args[_ENVIRONMENT]
            if environment is None:
                environment = [os.fsencode(f"{name}={value}") for name, value in os.environ.items()]
            marked[_ENVIRONMENT] = [*environment, f"{ATTEMPT}={_mark_of(started_by)}".encode()]
            pid = fork_exec(*marked)
            self.note(pid, started_by)
            return pid

        return marked_fork_exec

    def _spawn(self, spawn: Callable[..., int]) -> Callable[..., int]:
        def marked_spawn(path: Any, argv: Any, env: Mapping[Any, Any], /, **options: Any) -> int:
            started_by = owner()
            if started_by is not None and isinstance(env, Mapping):
                env = {**env, ATTEMPT: _mark_of(started_by)}
            pid = spawn(path, argv, env, **options)
            self.note(pid, started_by)
            return pid

        return marked_spawn

    def _noting(self, fork: Callable[[], int]) -> Callable[[], int]:
        def noted_fork() -> int:
            pid = fork()
            if pid:
                self.note(pid)
            return pid

        return noted_fork

    def _noting_terminal(self, fork: Callable[[], tuple[int, int]]) -> Callable[[], Any]:
        def noted_fork() -> tuple[int, int]:
            pid, terminal = fork()
            if pid:
                self.note(pid)
            return pid, terminal

        return noted_fork

    def _mark_child(self) -> None:
        """Write the mark into the environment of this forked process, as the kernel shows it."""
        forked_by = owner()
        if self._address is not None and isinstance(forked_by, Attempt):
            mark = _mark_of(forked_by).ljust(len(ROOM_FOR_ATTEMPT)).encode()
            ctypes.memmove(self._address, mark, len(ROOM_FOR_ATTEMPT))


def end_all(alive: Callable[[], Sequence[int]], grace: float) -> None:
    """Terminate these processes, kill them after the grace, until none is left. This blocks."""
    until = time.monotonic() + grace
    for pid in alive():
        send(pid, signal.SIGTERM if grace > 0 else signal.SIGKILL)
    while left := alive():
        if time.monotonic() >= until:
            for pid in left:
                send(pid, signal.SIGKILL)
        time.sleep(0.01)


def _mark_of(owner: Owner) -> str:
    return str(owner.work.run) if isinstance(owner, Attempt) else _OF_RUNNER


def _system(command: Any) -> int:
    """Do what os.system does through subprocess, so that the process is noted."""
    code = subprocess.Popen(command, shell=True, close_fds=False).wait()  # noqa: S602
    return code << 8 if code >= 0 else -code


def _address_of_mark() -> int | None:
    """Return the address from which the kernel reads the mark of this process; None if it has none.

    The variable is removed from os.environ: it is not for the code of jobs.
    """
    found = None if PORTABLE else address_of_variable(ATTEMPT, ROOM_FOR_ATTEMPT)
    os.environ.pop(ATTEMPT, None)
    return found


def address_of_variable(name: str, value: str) -> int | None:
    """Return where the value of a variable is in the environment; None if it has another value.

    Before any variable was changed, this is the memory that the kernel shows.
    """
    entries = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")
    start = f"{name}=".encode()
    for index in range(100_000):
        if (address := entries[index]) is None:
            break
        if ctypes.string_at(address, len(start)) == start:
            has_value = ctypes.string_at(address) == start + value.encode()
            return address + len(start) if has_value else None
    return None
