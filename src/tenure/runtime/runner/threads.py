"""The threads of a runner and their owners.

Every thread that Python starts passes through one of the functions that are wrapped here, also one
that is started by another thread. Threads that C code starts are found in the kernel's list: those
that wait to be woken, without a time limit, run no code unless other code calls them.
"""

import _thread
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from tenure.runtime.guard.processes import TICKS as _TICKS
from tenure.runtime.guard.processes import read, stat_in
from tenure.runtime.guard.system import PORTABLE
from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.runner.owners import Owner, enter, owner

_TASKS = "/proc/self/task"
_STARTERS = (  # not every Python has all of them
    (_thread, "start_new_thread"),
    (_thread, "start_new"),
    (_thread, "start_joinable_thread"),
    (threading, "_start_new_thread"),
    (threading, "_start_joinable_thread"),
)
_FUTEX = {"x86_64": 202, "aarch64": 98}.get(os.uname().machine)
TICK = 1 / _TICKS  # seconds; the kernel rounds start times down to it


class OwnedThread:
    """One thread, from the call that starts it to the end of its function."""

    __slots__ = ("ident", "native_id", "owner")

    def __init__(self, owner: Owner | None) -> None:
        self.owner = owner
        self.ident = 0  # until it runs
        self.native_id = 0


class Threads:
    """All threads of this process that were started since this object was made."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin in this process, which may be a fork of the one that made this object."""
        self._known: dict[int, OwnedThread] = {}  # by native id
        self._before = _listed()
        self._idents = set(sys._current_frames())
        # Waiting to be woken, with their run time at the last check.
        self._waiting: dict[int, bytes] = {}

    def watch(self) -> None:
        """Note the owner of every thread that Python starts from now on."""
        for module, name in _STARTERS:
            if hasattr(module, name):
                setattr(module, name, self._noting(getattr(module, name)))

    def _noting(self, start: Callable[..., Any]) -> Callable[..., Any]:
        def start_noted(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            if not callable(function):
                return start(function, *args, **kwargs)
            thread = OwnedThread(owner())
            if isinstance(thread.owner, Attempt):
                thread.owner.has_used_threads = True
                thread.owner.threads.add(thread)
            try:
                return start(self._run(thread, function), *args, **kwargs)
            except BaseException:
                self._forget(thread)
                raise

        return start_noted

    def _run(self, thread: OwnedThread, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            thread.ident, thread.native_id = _thread.get_ident(), _thread.get_native_id()
            self._known[thread.native_id] = thread
            enter(thread.owner)
            try:
                return function(*args, **kwargs)
            finally:
                self._forget(thread)

        return run

    def _forget(self, thread: OwnedThread) -> None:
        self._known.pop(thread.native_id, None)
        if isinstance(thread.owner, Attempt):
            thread.owner.threads.discard(thread)

    def unknown(self) -> dict[int, float]:
        """Return the threads without a known owner that may run code, each with its start time.

        Times are seconds of CLOCK_BOOTTIME, rounded down to the kernel's clock tick. A thread that
        waits to be woken is recognised at the second check, if it did not run in between.
        """
        listed = _listed()
        self._before &= listed  # the id of a thread that has ended may be reused
        strangers = [
            native_id
            for native_id in listed - self._before
            if (thread := self._known.get(native_id)) is None or thread.owner is None
        ]
        waiting = {thread: _run_time(thread) for thread in strangers if _waits_to_be_woken(thread)}
        if waiting and self._has_unknown_python():
            waiting = {}  # any of them may wait in Python code, to be woken from outside
        idle = {thread for thread, time in waiting.items() if self._waiting.get(thread) == time}
        self._waiting = waiting
        return {
            native_id: started
            for native_id in strangers
            if native_id not in idle
            if (started := _started_at(native_id)) is not None
        }

    def _has_unknown_python(self) -> bool:
        """Tell whether a thread that Python did not start runs Python code."""
        known = {thread.ident for thread in tuple(self._known.values()) if thread.owner}
        return not self._idents | known >= set(sys._current_frames())


def _listed() -> set[int]:
    if PORTABLE:
        return {thread.native_id for thread in threading.enumerate() if thread.native_id}
    return {int(name) for name in os.listdir(_TASKS)}  # noqa: PTH208 - names alone


def _started_at(native_id: int) -> float | None:
    """Return the start time of a thread; None if it is gone, or not shown."""
    seen = stat_in(f"{_TASKS}/{native_id}")
    return seen.began / _TICKS if seen else None


def _waits_to_be_woken(native_id: int) -> bool:
    """Tell whether a thread waits in a futex call that has no time limit."""
    call = read(f"{_TASKS}/{native_id}/syscall").split()
    return len(call) > 4 and call[0] == b"%d" % (_FUTEX or -1) and int(call[4], 16) == 0


def _run_time(native_id: int) -> bytes:
    return read(f"{_TASKS}/{native_id}/schedstat").split(b" ")[0]


def cpu_seconds(native_id: int) -> float:
    """Return the processor time that a thread of this process has used; 0 if it is gone."""
    _, bracket, fields = read(f"{_TASKS}/{native_id}/stat").rpartition(b")")
    if not bracket:
        return 0.0
    user, system = fields.split()[11:13]
    return (int(user) + int(system)) / _TICKS


def names_of(attempt: Attempt) -> list[str]:
    """Name the threads of an attempt and its calls in pools that are not done."""
    named = {thread.ident: thread.name for thread in threading.enumerate()}
    own = [
        f"thread {named.get(thread.ident, thread.native_id)}" for thread in tuple(attempt.threads)
    ]
    return sorted(own) + ["a call in a pool"] * max(len(attempt.open_calls), len(attempt.borrowed))
