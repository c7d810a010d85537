"""Tell whether a loop runner can still serve jobs."""

import asyncio
import os
import resource
import sys
import threading
from concurrent.futures import thread as futures
from functools import wraps
from typing import Any

from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.runner.orphans import Orphans
from tenure.runtime.runner.threads import cpu_seconds

_LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC)
_BUSY = 0.5  # of a processor, used by threads that ended jobs left behind
_BUSY_CHECKS = 3  # in a row


class Fitness:
    """Checked about once a second."""

    def __init__(self, loop: Any, started: set[int]) -> None:
        self._loop = loop
        self._attributes = set(vars(loop))
        self._modules = dict(sys.modules)
        self._limits = _limits()
        self._limits_were_set = False
        self._watch_limits()
        self._orphans = Orphans(started)
        self._left: list[Attempt] = []  # ended attempts with threads or calls that still run
        self._used = 0.0
        self._busy_checks = 0

    def note_left(self, attempt: Attempt) -> None:
        """Watch what this attempt left behind."""
        self._left.append(attempt)
        self._used += self._cpu_of(attempt)

    def _watch_limits(self) -> None:
        setrlimit = resource.setrlimit

        @wraps(setrlimit)
        def setrlimit_noted(*args: Any) -> None:
            self._limits_were_set = True
            setrlimit(*args)

        resource.setrlimit = setrlimit_noted

    @property
    def is_suspicious(self) -> bool:
        """Tell whether a full check is due; this one costs next to nothing."""
        return (
            self._limits_were_set
            or len(sys.modules) < len(self._modules)
            or len(vars(self._loop)) != len(self._attributes)
            or self._is_without_threads
        )

    @property
    def _is_without_threads(self) -> bool:
        """Tell whether the pool of the event loop accepts no more calls."""
        pool = self._loop._default_executor
        return futures._shutdown or pool is None or pool._shutdown or pool._broken

    def problem(self) -> str | None:
        """Return why the runner should accept no more jobs; None if it is fit."""
        if missing := self._modules.keys() - sys.modules.keys():
            sys.modules.update(self._modules)  # for the other jobs that run here
            return f"{len(missing)} modules were removed from it"
        patched = [name for name in set(vars(self._loop)) - self._attributes if _is_method(name)]
        if patched:
            return f"its event loop was patched: {', '.join(patched)}"
        if self._is_without_threads:
            return "the pool of threads of its event loop was shut down"
        if (now := _limits()) != self._limits:
            return f"its resource limits were changed: {now}"
        self._limits_were_set = False
        self._attributes = set(vars(self._loop))
        try:
            os.close(os.dup(0))
        except OSError as error:
            return f"it has no file descriptors left: {error}"
        try:
            threading.Thread(target=_do_nothing, daemon=True).start()
        except RuntimeError as error:
            return f"it can start no threads: {error}"
        self._orphans.reap()
        return self._orphans.problem or self._busy()

    def _busy(self) -> str | None:
        """Return the ended jobs whose threads use much of a processor; None if there are none."""
        self._left = [attempt for attempt in self._left if attempt.has_running_code]
        before, self._used = self._used, sum(map(self._cpu_of, self._left))
        busy = self._used - before >= _BUSY
        self._busy_checks = self._busy_checks + 1 if busy else 0
        if self._busy_checks < _BUSY_CHECKS:
            return None
        jobs = ", ".join(str(attempt.work.id) for attempt in self._left)
        return f"threads that were left behind keep a processor busy (job {jobs})"

    def _cpu_of(self, attempt: Attempt) -> float:
        return sum(map(cpu_seconds, attempt.native_threads))


def _is_method(name: str) -> bool:
    return callable(getattr(asyncio.SelectorEventLoop, name, None))


def _limits() -> list[tuple[int, int]]:
    return [resource.getrlimit(limit) for limit in _LIMITS]


def _do_nothing() -> None:
    pass
