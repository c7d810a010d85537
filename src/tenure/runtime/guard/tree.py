"""A runner and all that came from it."""

import os
import signal
from collections.abc import Iterator
from typing import NamedTuple

from .cgroups import ControlGroup
from .processes import STANDING, command, family, is_alive, send, state, why_alive

MOST_NAMED = 50


class Death(NamedTuple):
    """How a runner ended: by its own exit code, or by a signal."""

    code: int | None
    signal: int | None


class Tree:
    """One runner, from its fork until nothing of it is left."""

    def __init__(self, pid: int, mark: str, group: ControlGroup | None) -> None:
        self.pid = pid
        self.mark = mark
        self.group = group
        self.death: Death | None = None
        self.doomed_at: float | None = None
        self.waiting: list[int] = []  # the requests that want to hear of its end
        self.never_ran = False
        self.was_told = False
        self.was_swept = False
        self.known: set[int] = set()  # what was alive of it while it was being killed
        self._stopped: set[int] = set()

    @property
    def is_doomed(self) -> bool:
        return self.doomed_at is not None

    def doom(self, now: float) -> None:
        """From now on it is killed, until nothing of it is left."""
        if self.doomed_at is None:
            self.doomed_at = now

    def look_for_death(self) -> None:
        """See whether the runner has ended, and leave it unreaped: its pid stays its own."""
        if self.death is not None:
            return
        seen = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if seen is not None:
            by_itself = seen.si_code == os.CLD_EXITED
            self.death = Death(
                seen.si_status if by_itself else None, None if by_itself else seen.si_status
            )

    def reap(self) -> None:
        os.waitpid(self.pid, 0)
        if self.group is not None:
            self.group.remove()

    def kill_pass(self) -> Iterator[None]:
        """Send SIGKILL to all that is found now, a piece at a time."""
        if self.group is not None:
            # Remembered first: the dead lose their parents, and the stuck are hard to ask.
            self.known.update(filter(is_alive, self.group.pids()))
            self.group.kill()
        for pid in family(self.pid):
            if is_alive(pid):
                self.known.add(pid)
                send(pid, signal.SIGKILL)
            yield

    def terminate(self) -> int:
        """Ask all but the runner itself to end; say how many were asked."""
        below = [pid for pid in family(self.pid) if pid != self.pid]
        return sum(is_alive(pid) and send(pid, signal.SIGTERM) for pid in below)

    def stop_pass(self) -> bool:
        """Stop all that still moves; say whether all stood already."""
        all_stand = True
        for pid in family(self.pid):
            if pid not in self._stopped or state(pid) not in STANDING:
                send(pid, signal.SIGSTOP)
                self._stopped.add(pid)
                all_stand = False
        return all_stand

    def go_on(self) -> None:
        for pid in family(self.pid):
            send(pid, signal.SIGCONT)
        self._stopped.clear()

    def members(self) -> set[int]:
        """The runner, what is below it, and what is in its group."""
        return {*family(self.pid), *(self.group.pids() if self.group is not None else ())}

    def gone(self, left: set[object]) -> list[int]:
        """What was alive of it while it was being killed and is not left, the runner first."""
        others = sorted(self.known - {self.pid} - left)
        return others if self.pid in left else [self.pid, *others]


def named(pids: set[int]) -> list[dict[str, object]]:
    """Processes that could not be killed, as the keeper is told of them."""
    alive = sorted(filter(is_alive, pids))
    return [
        {"pid": pid, "command": command(pid), "why": why_alive(pid)} for pid in alive[:MOST_NAMED]
    ]
