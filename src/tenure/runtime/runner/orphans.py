"""Reap the orphans that a runner has adopted.

A runner becomes the parent of every descendant whose own parent has ended, so that none of them can
escape. No code in the runner waits for them when they end: as zombies they would use up the pids of
the pod or user.

A process that Python code of the runner started is never reaped here: its exit code belongs to the
code that started it. Such processes are noted when they start. C code is given time to wait for a
process of its own.
"""

import os
import time
from contextlib import suppress

from tenure.runtime.guard.processes import children_of, is_alive, stat
from tenure.runtime.guard.system import is_waited_for

_CHECK_EVERY = 0.2  # seconds
_PATIENCE = 1.0  # seconds that C code has to wait for a process that has ended
_MAX_FORGOTTEN = 50


class Orphans:
    """The children of this process that no code waits for; not those that Python started."""

    def __init__(self, started: set[int]) -> None:
        self._started = started
        self.has_children = False  # of any kind, at the last check
        self._forgotten = 0  # ended, and never waited for, at the last check
        self._check_at = 0.0
        self._ended: dict[tuple[int, int], float] = {}  # by pid and start: first seen as ended

    @property
    def problem(self) -> str:
        """Why no further job may use this process, which would run out of pids; or nothing."""
        if self._forgotten <= _MAX_FORGOTTEN:
            return ""
        return f"{self._forgotten} processes that ended were never waited for"

    def reap(self) -> None:
        """Reap orphans that ended a while ago. Call it often: most calls do nothing."""
        now = time.monotonic()
        if now < self._check_at:
            return
        self._check_at = now + _CHECK_EVERY
        children = children_of(os.getpid())
        unlisted = self._started.difference(children)
        self._started.difference_update([pid for pid in unlisted if is_waited_for(pid)])
        ended = {}
        forgotten = 0
        for pid in children:
            if is_alive(pid) or (seen := stat(pid)) is None:
                continue
            if pid in self._started:
                forgotten += 1
                continue
            since = self._ended.get((pid, seen.began), now)
            if now - since < _PATIENCE:
                ended[pid, seen.began] = since
            else:
                _wait_for(pid)
        self._ended = ended
        self.has_children = bool(children)
        self._forgotten = forgotten


def _wait_for(pid: int) -> None:
    with suppress(ChildProcessError):  # other code has reaped it
        os.waitpid(pid, os.WNOHANG)
