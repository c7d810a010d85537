"""Find out whether a process that has imported an app can be forked.

A fork has the memory of its parent, but not its threads; it shares its connections and open files,
where each process should have its own. So an app whose import leaves any of this has its runners
spawned, and each imports the app for itself.
"""

import _thread
import fcntl
import gc
import io
import os
import random
import signal
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from tenure.runtime.guard.processes import children_of, command, read

_SHOWN = 3
_ENDS_WITHIN = 0.3  # seconds, for a thread that Python does not know any more
_HARMLESS = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
_KINDS = {
    "anon_inode:[eventpoll]": "an event loop",
    "anon_inode:[io_uring]": "an event loop",
    "anon_inode:[pidfd]": "a handle of a process",
}


class ForkCheck:
    """Make it before the app is imported."""

    def __init__(self) -> None:
        self._handlers = _handlers()
        self._blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self._open = _open_files()
        self._mapped = _shared_memory()

    def obstacle(self) -> str:
        """Return what the import left that does not survive a fork; empty if nothing."""
        gc.collect()  # what nobody uses any more is no obstacle
        found = [
            _counted("thread", _threads()),
            _counted("process", [command(pid) or str(pid) for pid in children_of(os.getpid())]),
            *self._files(),
            _counted("shared memory mapping", sorted(_shared_memory() - self._mapped)),
            _counted("signal handler", self._signals()),
            _counted("running timer", _timers()),
            *_objects(),
        ]
        found = [each for each in found if each]
        return f"importing the app left {' and '.join(found)}" if found else ""

    def _files(self) -> Iterator[str]:
        kinds: dict[str, list[str]] = {}
        for fd, path in _open_files().items():
            if self._open.get(fd) != path and (kind := _kind_of(fd, path)):
                kinds.setdefault(kind, []).append(path)
        for kind, paths in kinds.items():
            if kind == "open file":
                yield _counted(kind, paths)
            else:
                yield kind if len(paths) == 1 else f"{len(paths)} times {kind}"

    def _signals(self) -> list[str]:
        changed = [
            signal.Signals(number).name
            for number, handler in _handlers().items()
            if handler != self._handlers[number]
        ]
        if signal.pthread_sigmask(signal.SIG_BLOCK, ()) != self._blocked:
            changed.append("blocked signals")
        return changed


def _counted(noun: str, names: list[str]) -> str:
    if not names:
        return ""
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    plural = "es" if noun.endswith("s") else "s"
    return f"{len(names)} {noun}{plural if len(names) > 1 else ''} ({shown})"


def _threads() -> list[str]:
    """Return the names of all threads but this one, also of those that C code started.

    The kernel lists a thread for a moment after Python has joined it.
    """
    until = time.monotonic() + _ENDS_WITHIN
    while len(found := _listed_threads()) >= threading.active_count():
        if time.monotonic() >= until:
            break
        time.sleep(0.005)
    return found


def _listed_threads() -> list[str]:
    names = {thread.native_id: thread.name for thread in threading.enumerate()}
    listed = [int(name) for name in os.listdir("/proc/self/task")]  # noqa: PTH208 - names alone
    others = sorted(set(listed) - {_thread.get_native_id()})
    comm = "/proc/self/task/{}/comm"
    return [
        names.get(thread) or read(comm.format(thread)).decode(errors="replace").strip()
        for thread in others
    ]


def _open_files() -> dict[int, str]:
    found = {}
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names alone
        with suppress(OSError):  # the descriptor of the listing itself
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")  # noqa: PTH115
    return found


def _kind_of(fd: int, path: str) -> str:
    """Return what an open descriptor is; empty if forks may share it."""
    if path in _HARMLESS:
        return ""
    try:
        mode, flags = os.fstat(fd).st_mode, fcntl.fcntl(fd, fcntl.F_GETFL)
    except OSError:
        return ""
    if stat.S_ISSOCK(mode):
        return "an open socket"
    if stat.S_ISFIFO(mode):
        return "an open pipe"
    if path in _KINDS:
        return _KINDS[path]
    if stat.S_ISDIR(mode):
        return ""
    # Appended lines do not depend on a position in the file. A lock would be held by all forks.
    is_log = stat.S_ISREG(mode) and flags & os.O_APPEND and flags & os.O_ACCMODE == os.O_WRONLY
    if is_log and b"lock:" not in read(f"/proc/self/fdinfo/{fd}"):
        return ""
    return "open file"


def _shared_memory() -> set[str]:
    """Return the memory that forks would share for writing."""
    found = set()
    for line in read("/proc/self/maps").decode(errors="replace").splitlines():
        span, permissions, *_, path = (
            line.split(maxsplit=5) if line.count("/") else [*line.split(), ""]
        )
        if "w" in permissions and "s" in permissions:
            found.add(path or span)
    return found


def _handlers() -> dict[int, Any]:
    return {int(number): signal.getsignal(number) for number in signal.valid_signals()}


def _timers() -> list[str]:
    running = [timer for timer in _TIMERS if signal.getitimer(timer) != (0.0, 0.0)]
    return ["setitimer"] * len(running) + ["timer_create"] * bool(read("/proc/self/timers"))


def _objects() -> Iterator[str]:
    """Find objects of which each process must have its own, and flush open files."""
    numpy: Any = sys.modules.get("numpy.random")
    generators: tuple[type, ...] = (random.Random,)
    # Those that are seeded again in a fork.
    own: list[Any] = [random._inst, getattr(tempfile._name_sequence, "_rng", None)]  # type: ignore[attr-defined]
    if numpy is not None:
        generators += (numpy.Generator, numpy.RandomState)
        own.append(numpy.mtrand._rand)
    found, folders = 0, 0
    for each in gc.get_objects():
        kind = type(each)
        if issubclass(kind, generators):
            is_shared = not issubclass(kind, random.SystemRandom)
            found += is_shared and not any(each is other for other in own)
        elif issubclass(kind, tempfile.TemporaryDirectory):
            folders += 1
        elif issubclass(kind, io.IOBase):
            with suppress(Exception):
                each.flush()
    yield _counted("random generator", ["its numbers would repeat in every fork"] * found)
    yield _counted("temporary directory", ["removed by the first fork that ends"] * folders)
