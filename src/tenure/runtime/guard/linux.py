"""The operating system, where it is Linux: pidfds, files in memory, packets with descriptors."""

import os
import signal
import socket
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

MAX_BYTES = 128 * 1024
MAX_FDS = 200


class ProcessDescriptor:
    """A process that can be signalled: a pid may be reused, a descriptor cannot."""

    def __init__(self, pid: int) -> None:
        self._fd = os.pidfd_open(pid)

    def send(self, number: signal.Signals) -> None:
        """Send a signal; raise ProcessLookupError if the process is gone."""
        signal.pidfd_send_signal(self._fd, number)

    def close(self) -> None:
        os.close(self._fd)


def open_process(pid: int) -> ProcessDescriptor:
    return ProcessDescriptor(pid)


def boottime() -> float:
    """Return the seconds of the clock that also runs while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def make_memory(name: str) -> int:
    """Return a descriptor of a new file in memory, which processes can share."""
    return os.memfd_create(name)


def make_pipe() -> tuple[int, int]:
    """Return a pipe that never blocks."""
    return os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)


def life_of_this_process() -> int:
    """Return a descriptor that becomes readable in other processes when this one ends."""
    return os.pidfd_open(os.getpid())


def watch_child(child: "subprocess.Popen[bytes]") -> int:
    """Return a descriptor that becomes readable when a child ends."""
    return os.pidfd_open(child.pid)


def peek_exit(pid: int) -> tuple[int | None, int | None] | None:
    """Return the exit code or signal of a child that has ended, which stays unreaped."""
    seen = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if seen is None:
        return None
    by_itself = seen.si_code == os.CLD_EXITED
    return (seen.si_status, None) if by_itself else (None, seen.si_status)


def reap(pid: int) -> None:
    os.waitpid(pid, 0)


def is_waited_for(pid: int) -> bool:
    """Tell whether a child is certainly reaped: without a free descriptor none is listed."""
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


def has_children() -> bool:
    """Tell whether this process has any child, alive or not, by asking the kernel once."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def socket_pair() -> tuple[socket.socket, socket.socket]:
    """Return two connected sockets that keep message boundaries and descriptors together."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send_message(end: socket.socket, body: bytes, fds: Sequence[int]) -> None:
    socket.send_fds(end, [body], fds)


def read_message(end: socket.socket) -> tuple[bytes, list[int], bool]:
    """Return a message, its descriptors, and whether any were dropped; nothing at the end."""
    body, fds, flags, _ = socket.recv_fds(end, MAX_BYTES, MAX_FDS, socket.MSG_CMSG_CLOEXEC)
    # The kernel drops descriptors when this process has reached its limit.
    return body, fds, bool(flags & (socket.MSG_CTRUNC | socket.MSG_TRUNC))
