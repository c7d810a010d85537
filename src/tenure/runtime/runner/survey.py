"""Find what is left of an attempt in an event loop after its code has ended.

A stopped attempt has ended when nothing is left that could be its own: no task, callback, thread,
call in a pool or process that it owns, and none of unknown origin that began while it ran.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from tenure.runtime.guard.processes import command, inherits_orphans
from tenure.runtime.runner.callbacks import Callback, callbacks, owner_of, tasks
from tenure.runtime.runner.loop_attempt import LoopAttempt
from tenure.runtime.runner.owners import Owner
from tenure.runtime.runner.ownership import Ownership
from tenure.runtime.runner.threads import TICK, names_of

_MAX_NAMED = 10


class Survey:
    """A survey of the loop and the process, for all attempts that end in the same turn of the loop.

    `internal` tells whether a callback bound to this object is the runner's own.
    """

    def __init__(self, loop: Any, ownership: Ownership, internal: Callable[[Any], bool]) -> None:
        self._ownership = ownership
        self._callbacks: defaultdict[Owner | None, list[Callback]] = defaultdict(list)
        self._tasks: defaultdict[Owner | None, list[Any]] = defaultdict(list)
        for task in (found := tasks(loop)):
            self._tasks[owner_of(task)].append(task)
        for callback in callbacks(loop, found, internal):
            self._callbacks[callback.owner].append(callback)
        self._strays = [task for task in self._tasks[None] if not asyncio.Task.done(task)]
        self._adopts = inherits_orphans()
        self._threads = ownership.threads.unknown()
        self._processes = ownership.processes.unknown()
        self._calls = ownership.pools.unknown()

    def cancel(self, attempt: LoopAttempt) -> bool:
        """Cancel the tasks and callbacks of an attempt, and its calls that have not begun.

        Return whether there was anything: then another survey must look for its consequences.
        Callbacks are kept while a thread runs: it may need an answer by a callback.
        """
        tasks, calls = self.tasks(attempt), attempt.open_calls
        for task in tasks:
            asyncio.Task.cancel(task)
        for call in calls:
            call.cancel()
        callbacks = [] if attempt.has_running_code else self._callbacks[attempt]
        for callback in callbacks:
            callback.cancel()
        return bool(tasks or calls or callbacks)

    def tasks(self, attempt: LoopAttempt) -> set[Any]:
        """Return the tasks of an attempt that are not done, without its own task."""
        found = {*attempt.tasks, *self._tasks[attempt]} - {attempt.task}
        return {task for task in found if not asyncio.Task.done(task)}

    def left_of(self, attempt: LoopAttempt) -> list[str]:
        """Name all that is left of an attempt, and all that could be its own."""
        began = attempt.began - TICK
        return [
            *(f"task {asyncio.Task.get_name(task)}" for task in self.tasks(attempt)),
            *(callback.name for callback in self._callbacks[attempt]),
            *names_of(attempt),
            *(_named(pid) for pid in self._processes_of(attempt)),
            *(f"task {asyncio.Task.get_name(task)} of unknown origin" for task in self._strays),
            *(f"{callback.name} of unknown origin" for callback in self._callbacks[None]),
            *(
                f"thread {thread} of unknown origin"
                for thread, at in self._threads.items()
                if at >= began
            ),
            *("a call of unknown origin in a pool" for at in self._calls if at >= began),
            *(
                f"{_named(pid)} of unknown origin"
                for pid, at in self._processes.items()
                if at >= began
            ),
            *([] if self._adopts else ["orphans of its processes, which the runner did not adopt"]),
        ][:_MAX_NAMED]

    def _processes_of(self, attempt: LoopAttempt) -> list[int]:
        return self._ownership.processes.of(attempt) if attempt.pids else []


def _named(pid: int) -> str:
    return f"process {pid} ({command(pid)})"
