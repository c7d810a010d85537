"""Which processes a job in a loop runner has started.

Every job of the runner shares its process, so ancestry alone does not say whose a child is. Whoever
starts one is noted at the moment of the fork, and the child carries a mark in its environment by
which its own descendants are found when they have left the tree.
"""

import _posixsubprocess
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from typing import Any

import psutil

from tenure.runtime.guard.processes import ATTEMPT
from tenure.runtime.runner.attempt import Attempt, current

_ENVIRONMENT = 5  # the place of the environment among the arguments of fork_exec


def watch_forks(note: Callable[[Attempt, int], None]) -> None:
    """From now on, `note` hears of every process that a job starts."""
    fork_exec = _posixsubprocess.fork_exec
    fork = os.fork

    def marked_fork_exec(*args: Any) -> int:
        attempt = current.get()
        if attempt is None:
            return fork_exec(*args)
        told = list(args)
        mark = f"{ATTEMPT}={attempt.work.run}".encode()
        inherited = [os.fsencode(f"{name}={value}") for name, value in os.environ.items()]
        told[_ENVIRONMENT] = [
            *(inherited if args[_ENVIRONMENT] is None else args[_ENVIRONMENT]),
            mark,
        ]
        pid = fork_exec(*told)
        note(attempt, pid)
        return pid

    def noted_fork() -> int:
        pid = fork()
        attempt = current.get()
        if pid and attempt is not None:
            note(attempt, pid)
        return pid

    _posixsubprocess.fork_exec = marked_fork_exec
    subprocess._fork_exec = marked_fork_exec  # type: ignore[attr-defined]
    subprocess._USE_POSIX_SPAWN = False  # type: ignore[misc]
    os.fork = noted_fork


def started_by(attempt: Attempt, pids: Iterable[int]) -> list[psutil.Process]:
    """What is alive of the processes that an attempt started."""
    ours = set(pids)
    mark = str(attempt.work.run)
    alive = []
    for process in psutil.Process().children(recursive=True):
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            family = {process.pid, *(parent.pid for parent in process.parents())}
            if family & ours or process.environ().get(ATTEMPT) == mark:
                alive.append(process)
        except psutil.Error:
            continue
    return alive


def end(alive: Callable[[], list[psutil.Process]], grace: float) -> None:
    """SIGTERM, and after the grace SIGKILL until nothing is left. Blocks: call it in a thread."""
    until = time.monotonic() + grace
    _send(alive(), signal.SIGTERM if grace > 0 else signal.SIGKILL)
    while left := alive():
        if time.monotonic() >= until:
            _send(left, signal.SIGKILL)
        time.sleep(0.01)


def _send(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        try:
            process.send_signal(number)
        except psutil.Error:
            continue
