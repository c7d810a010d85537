"""Inspect and signal processes through /proc."""
# pathlib would make the guard larger.
# ruff: noqa: PTH110, PTH208

import ctypes
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

from .stat import Stat
from .system import PORTABLE

WORKER = "TENURE_WORKER"
GUARD = "TENURE_GUARD"
RUNNER = "TENURE_RUNNER"
ATTEMPT = "TENURE_ATTEMPT"
ROOM_FOR_ATTEMPT = " " * 20  # in the environment of a runner; forked children are marked there
# Between the guard and a fork server: a new pid follows; in answer, that the guard knows it.
FORKED = b"+"
MARK_DIGITS = 8  # of the number in the mark of a runner that was forked

STANDING = frozenset("TtZXD")  # states in which a process runs no code of its own
DEAD = frozenset("ZX")

TICKS = os.sysconf("SC_CLK_TCK")
_ROUNDS = 100  # at a process whose threads start and end, before it counts as alive

_SET_PDEATHSIG = 1
_SET_CHILD_SUBREAPER = 36
_GET_CHILD_SUBREAPER = 37

_libc = ctypes.CDLL(None, use_errno=True)


def inherit_orphans() -> None:
    """Become the parent of every descendant whose own parent dies. Survives exec, not fork."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def leave_orphans() -> None:
    """Let orphans go to the next process above that inherits them."""
    _prctl(_SET_CHILD_SUBREAPER, 0)


def inherits_orphans() -> bool:
    """Tell whether this process still becomes the parent of its descendants' orphans."""
    answer = ctypes.c_int(0)
    _prctl(_GET_CHILD_SUBREAPER, ctypes.byref(answer))
    return answer.value == 1


def die_with_parent() -> None:
    """Be killed when the parent's thread ends. Survives exec, not fork."""
    _prctl(_SET_PDEATHSIG, signal.SIGKILL)


def _prctl(option: int, value: Any) -> None:
    if not PORTABLE and _libc.prctl(option, value, 0, 0, 0):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def read(path: str) -> bytes:
    """Read a file of /proc; return nothing if it is gone or may not be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        whole = b""
        while chunk := os.read(fd, 1 << 16):
            whole += chunk
    except OSError:
        return b""
    else:
        return whole
    finally:
        os.close(fd)


def stat(pid: int) -> Stat | None:
    return stat_in(f"/proc/{pid}")


def stat_in(folder: str) -> Stat | None:
    """Read the stat of a process or thread in its folder of /proc; None if it is gone."""
    # The name is in brackets and may hold brackets and spaces itself.
    name, bracket, rest = read(f"{folder}/stat").rpartition(b")")
    if not bracket:
        return None
    fields = rest.split()
    return Stat(
        name.partition(b"(")[2].decode(errors="replace"),
        fields[0].decode(),
        int(fields[1]),
        int(fields[3]),
        int(fields[17]),
        int(fields[19]),
    )


def started_at(pid: int) -> float | None:
    """Return when a process began, in seconds since the machine started; None if it is gone."""
    seen = stat(pid)
    return seen.began / TICKS if seen else None


def state(pid: int) -> str:
    """Return the state of a process: one letter as in /proc; X if it is gone."""
    return _state_and_folder(pid)[0]


def is_alive(pid: int) -> bool:
    """Tell whether any thread of a process can still run."""
    return state(pid) not in DEAD


def folder_of(pid: int) -> str:
    """Return the folder of /proc in which the memory of a process can be read."""
    return _state_and_folder(pid)[1]


def _state_and_folder(pid: int) -> tuple[str, str]:
    """Return the state of a process, and the folder of one of its living threads.

    The kernel calls a process a zombie when its main thread has ended, although other threads may
    run and keep its memory. Such a process has the state of a running thread, or else of a living
    thread.
    """
    folder = f"/proc/{pid}"
    for _ in range(_ROUNDS):
        main = stat_in(folder)
        if main is None:
            return "X", folder
        if main.state not in DEAD or main.threads <= 1:
            return main.state, folder
        seen = [(thread.state, path) for path in _thread_folders(pid) if (thread := stat_in(path))]
        living = [(letter, path) for letter, path in seen if letter not in DEAD]
        if living:
            return min(living, key=lambda thread: thread[0] in STANDING)
        if len(seen) >= main.threads:
            return main.state, folder
        # A thread ended after it was listed; it may have started another thread before.
    return "R", folder


def _thread_folders(pid: int) -> list[str]:
    try:
        return [f"/proc/{pid}/task/{thread}" for thread in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _listed_children(pid: int) -> list[int]:
    found: list[int] = []
    for thread in _thread_folders(pid):
        found.extend(map(int, read(f"{thread}/children").split()))
    return found


def _scanned_children() -> Callable[[int], list[int]]:
    below: dict[int, list[int]] = {}
    for pid in all_pids():
        if seen := stat(pid):
            below.setdefault(seen.parent, []).append(pid)
    return lambda pid: below.get(pid, [])


# Not every kernel lists children. Where it does, the cost of a walk grows with the tree alone.
_KERNEL_LISTS_CHILDREN = not PORTABLE and os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def children_of(pid: int) -> list[int]:
    """Return the children of a process, including dead ones that it has not reaped."""
    return _listed_children(pid) if _KERNEL_LISTS_CHILDREN else _scanned_children()(pid)


def family(root: int) -> Iterator[int]:
    """Yield a process, then its descendants, each after its own parent.

    One walk may miss a process that starts or changes its parent meanwhile: walk again until
    nothing new is found.
    """
    children = _listed_children if _KERNEL_LISTS_CHILDREN else _scanned_children()
    found = {root}
    ahead = [root]
    while ahead:
        pid = ahead.pop()
        # Before the yield: the caller may kill it, and its children would change their parent.
        below = [child for child in children(pid) if child not in found]
        found.update(below)
        ahead.extend(below)
        yield pid


def orphans_of(runner: int) -> list[int]:
    """Return the processes that carry the mark of a runner and have another parent by now: init."""
    mark = environment(runner).get(RUNNER, "")
    orphans = [pid for pid in _scanned_children()(1) if carries(pid, RUNNER, mark)]
    return [pid for orphan in orphans for pid in family(orphan)]


def send(pid: int, number: int) -> bool:
    """Signal a process; return whether it was reached."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def catches(pid: int, number: int) -> bool:
    """Tell whether a process has a handler of its own for a signal."""
    for line in read(f"/proc/{pid}/status").splitlines():
        if line.startswith(b"SigCgt:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


def environment(pid: int) -> dict[str, str]:
    """Return the environment that a process was started with; empty if it cannot be read."""
    pairs = (entry.partition(b"=") for entry in _read_memory(pid, "environ").split(b"\0"))
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def attempt_of(pid: int) -> str:
    """Return the number of the run that started a process, by its mark; empty if it has none."""
    return environment(pid).get(ATTEMPT, "").strip()


def carries(pid: int, name: str, value: str) -> bool:
    return f"\0{name}={value}\0".encode() in b"\0%b\0" % _read_memory(pid, "environ")


def command(pid: int) -> str:
    """Return the command line of a process, or its name, for people to read."""
    seen = stat(pid)
    if seen is None:
        return ""
    words = _read_memory(pid, "cmdline")
    return words.replace(b"\0", b" ").decode(errors="replace").strip()[:200] or f"[{seen.name}]"


def _read_memory(pid: int, name: str) -> bytes:
    """Read a file of /proc that is backed by the process's memory; empty if it cannot be read."""
    folder = ""
    for _ in range(_ROUNDS):
        letter, living = _state_and_folder(pid)
        # Never read it from a process in uninterruptible sleep: the reader may block with it.
        if letter in "DZX" or living == folder:
            break
        folder = living
        if content := read(f"{folder}/{name}"):
            return content
        # Either there is nothing to read, or this thread has just ended and another lives.
    return b""


def why_alive(pid: int) -> str:
    """Return why a process that was sent SIGKILL still exists."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return "not permitted"
    except ProcessLookupError:
        return "gone"
    return "uninterruptible" if state(pid) == "D" else "still dying"


if PORTABLE:  # in place of those above
    from .portable import catches as catches
    from .portable import inherits_orphans as inherits_orphans
    from .portable import read_memory as _read_memory
    from .portable import scanned_children as _scanned_children
    from .portable import stat as stat
    from .portable import state_and_folder as _state_and_folder
