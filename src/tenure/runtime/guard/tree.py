"""A runner and all its descendants."""

import signal
import socket
from collections.abc import Iterator
from typing import NamedTuple

from .cgroups import ControlGroup
from .processes import STANDING, command, family, is_alive, send, state, why_alive
from .system import peek_exit, reap

MAX_NAMED = 50


class Death(NamedTuple):
    """The end of a runner: its exit code, or the signal that ended it."""

    code: int | None
    signal: int | None


class Tree:
    """One runner, from its fork until nothing of it is left."""

    def __init__(self, pid: int, mark: str, group: ControlGroup | None) -> None:
        self.pid = pid
        self.mark = mark
        self.group = group
        self.forks: socket.socket | None = None  # where a fork server takes requests
        self.death: Death | None = None
        self.doomed_at: float | None = None
        self.waiting: list[int] = []  # numbers of the requests that wait for its end
        self.never_ran = False
        self.is_reported = False
        self.was_swept = False
        self.known: set[int] = set()  # members that were seen alive while it was being killed
        self._stopped: set[int] = set()

    @property
    def is_doomed(self) -> bool:
        return self.doomed_at is not None

    def doom(self, now: float) -> None:
        """Kill it from now on, until nothing of it is left."""
        if self.doomed_at is None:
            self.doomed_at = now

    def check_death(self) -> None:
        """Check whether the runner has ended. It stays unreaped, so that its pid is not reused."""
        if self.death is not None:
            return
        seen = peek_exit(self.pid)
        if seen is not None:
            self.death = Death(*seen)

    def reap(self) -> None:
        reap(self.pid)
        if self.forks is not None:
            self.forks.close()
        if self.group is not None:
            self.group.remove()

    def kill_pass(self) -> Iterator[None]:
        """Send SIGKILL to every member found now, one process per step."""
        if self.group is not None:
            # Remembered first: dead processes lose their parents, and stuck ones cannot be read.
            self.known.update(filter(is_alive, self.group.pids()))
            self.group.kill()
        for pid in family(self.pid):
            if is_alive(pid):
                self.known.add(pid)
                send(pid, signal.SIGKILL)
            yield

    def stop_pass(self) -> bool:
        """Stop every member that still runs; return whether all had stopped before."""
        all_stopped = True
        for pid in family(self.pid):
            if pid not in self._stopped or state(pid) not in STANDING:
                send(pid, signal.SIGSTOP)
                self._stopped.add(pid)
                all_stopped = False
        return all_stopped

    def resume(self) -> None:
        for pid in family(self.pid):
            send(pid, signal.SIGCONT)
        self._stopped.clear()

    def members(self) -> set[int]:
        """Return the runner, its descendants, and the members of its group."""
        return {*family(self.pid), *(self.group.pids() if self.group is not None else ())}

    def gone(self, left: set[object]) -> list[int]:
        """Return the members that were killed and are not left, the runner first."""
        others = sorted(self.known - {self.pid} - left)
        return others if self.pid in left else [self.pid, *others]


def named(pids: set[int]) -> list[dict[str, object]]:
    """Describe processes that could not be killed, for the keeper."""
    alive = sorted(filter(is_alive, pids))
    return [
        {"pid": pid, "command": command(pid), "why": why_alive(pid)} for pid in alive[:MAX_NAMED]
    ]
