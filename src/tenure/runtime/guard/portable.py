"""The operating system, where it may not be Linux: POSIX and psutil. For development only.

It promises less: a pid may be reused between the end of a process and a signal to it, a process
that has left its tree is found by its environment alone, and threads of C code are not seen.
"""

import os
import select
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil

from .stat import Stat

if TYPE_CHECKING:
    import subprocess

MAX_FDS = 200
_LENGTH = 4  # bytes before each message
_TICKS = os.sysconf("SC_CLK_TCK")
_STATES = {
    psutil.STATUS_RUNNING: "R",
    psutil.STATUS_STOPPED: "T",
    psutil.STATUS_TRACING_STOP: "t",
    psutil.STATUS_DISK_SLEEP: "D",
    psutil.STATUS_ZOMBIE: "Z",
    psutil.STATUS_DEAD: "X",
}  # others sleep


class StartedProcess:
    """A process that can be signalled; its start time tells it from others of its pid."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)

    def send(self, number: signal.Signals) -> None:
        """Send a signal; raise ProcessLookupError if the process is gone."""
        try:
            self._process.send_signal(number)
        except psutil.NoSuchProcess:
            raise ProcessLookupError(self._process.pid) from None

    def close(self) -> None: ...


def open_process(pid: int) -> StartedProcess:
    return StartedProcess(pid)


def boottime() -> float:
    """Return the seconds of the clock that on macOS also runs while the machine is suspended."""
    return time.monotonic()


def make_memory(name: str) -> int:
    """Return a descriptor of a new file without a name, which processes can share."""
    fd, path = tempfile.mkstemp(prefix=name)
    os.unlink(path)  # noqa: PTH108 - pathlib would make the guard larger
    return fd


def make_pipe() -> tuple[int, int]:
    """Return a pipe that never blocks."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    return reader, writer


def life_of_this_process() -> int:
    """Return a descriptor that becomes readable in other processes when this one ends."""
    reader, _kept_open = os.pipe()
    return reader


def watch_child(child: "subprocess.Popen[bytes]") -> int:
    """Return a descriptor that becomes readable when a child ends."""
    reader, writer = os.pipe()

    def wait() -> None:
        child.wait()
        os.close(writer)

    threading.Thread(target=wait, daemon=True).start()
    return reader


def peek_exit(pid: int) -> tuple[int | None, int | None] | None:
    """Return the exit code or signal of a child that has ended; it is reaped at once."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        return None
    code = os.waitstatus_to_exitcode(status)
    return (code, None) if code >= 0 else (None, -code)


def reap(pid: int) -> None:
    """Do nothing: peek_exit has reaped it."""


def is_waited_for(pid: int) -> bool:
    """Tell whether a child is reaped."""
    return not psutil.pid_exists(pid)


def has_children() -> bool:
    """Tell whether this process has any child, alive or not."""
    return bool(scanned_children()(os.getpid()))


def socket_pair() -> tuple[socket.socket, socket.socket]:
    """Return two connected sockets; macOS has none that keep message boundaries."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)


def send_message(end: socket.socket, body: bytes, fds: Sequence[int]) -> None:
    """Send a message whole, or raise BlockingIOError before its first byte."""
    message = len(body).to_bytes(_LENGTH, "little") + body
    sent = socket.send_fds(end, [message], fds)
    while sent < len(message):
        select.select([], [end], [])
        with suppress(BlockingIOError):
            sent += end.send(message[sent:])


def read_message(end: socket.socket) -> tuple[bytes, list[int], bool]:
    """Return a message, its descriptors, and whether any were dropped; nothing at the end."""
    head, fds, flags, _ = socket.recv_fds(end, _LENGTH, MAX_FDS)
    for fd in fds:
        os.set_inheritable(fd, False)
    head += _read(end, _LENGTH - len(head)) if head else b""
    body = _read(end, int.from_bytes(head, "little")) if len(head) == _LENGTH else b""
    return body, fds, bool(flags & socket.MSG_CTRUNC)


def _read(end: socket.socket, size: int) -> bytes:
    """Read so many bytes, which are on their way; fewer if the other end is closed."""
    read = b""
    while len(read) < size:
        select.select([end], [], [])
        part = end.recv(size - len(read))
        if not part:
            break
        read += part
    return read


# What the module `processes` reads from /proc on Linux.


def stat(pid: int) -> Stat | None:
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            began = process.create_time() - (time.time() - time.monotonic())
            return Stat(
                process.name(),
                _STATES.get(process.status(), "S"),
                process.ppid(),
                os.getsid(pid),
                1,
                int(began * _TICKS),
            )
    except psutil.ZombieProcess:
        return Stat("", "Z", 0, 0, 1, 0)
    except (psutil.Error, OSError):
        return None


def state_and_folder(pid: int) -> tuple[str, str]:
    """Return the state of a process; there is no folder in which its memory can be read."""
    seen = stat(pid)
    return ("X" if seen is None else seen.state), ""


def scanned_children() -> Callable[[int], list[int]]:
    below: dict[int, list[int]] = {}
    for pid in psutil.pids():
        with suppress(psutil.Error):
            below.setdefault(psutil.Process(pid).ppid(), []).append(pid)
    return lambda pid: below.get(pid, [])


def read_memory(pid: int, name: str) -> bytes:
    """Return the environment or the command line of a process; empty if it cannot be read."""
    try:
        process = psutil.Process(pid)
        if name == "cmdline":
            return "\0".join(process.cmdline()).encode(errors="surrogateescape")
        pairs = (f"{key}={value}" for key, value in process.environ().items())
        return "\0".join(pairs).encode(errors="surrogateescape")
    except (psutil.Error, OSError):
        return b""


def catches(pid: int, number: int) -> bool:  # noqa: ARG001
    """Believe that a process handles a signal, which cannot be seen."""
    return True


def inherits_orphans() -> bool:
    """Believe that no orphan is missing; none is inherited."""
    return True
