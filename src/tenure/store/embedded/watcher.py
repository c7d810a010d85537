"""The locks around an embedded PostgreSQL, and the watcher that stops it after a crash.

The watcher runs this file by its path under `python -I -S`, so nothing here may import
more than small parts of the standard library.
"""

import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

POLL = 0.005
STOP_PATIENCE = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0))  # fast, then immediate

_open_here: set[int] = set()


def _close_in_child() -> None:
    while _open_here:
        os.close(_open_here.pop())


# Closing an inherited descriptor does not affect the lock of the parent; keeping it open would keep
# the lock after the death of the parent.
os.register_at_fork(after_in_child=_close_in_child)


class Lock:
    """An flock on a file in `locks/`; each instance locks independently."""

    flags = os.O_RDWR | os.O_CREAT

    def __init__(self, folder: Path, name: str) -> None:
        self.fd = os.open(folder / "locks" / name, self.flags, 0o600)
        _open_here.add(self.fd)

    def acquire(self, how: int) -> None:
        fcntl.flock(self.fd, how)

    def try_acquire(self, how: int) -> bool:
        try:
            fcntl.flock(self.fd, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        # Closing is not enough: a child that was forked outside of Python may hold a copy.
        fcntl.flock(self.fd, fcntl.LOCK_UN)
        self.hand_over()

    def hand_over(self) -> None:
        """Close this copy; the process that inherited the other keeps the lock."""
        _open_here.discard(self.fd)
        os.close(self.fd)


@contextmanager
def turn(folder: Path, patience: float | None = None) -> Iterator[Lock]:
    """Hold the lock without which no process starts or stops the server."""
    lock = Lock(folder, "turn")
    try:
        if patience is None:
            lock.acquire(fcntl.LOCK_EX)
        else:
            deadline = time.monotonic() + patience
            while not lock.try_acquire(fcntl.LOCK_EX):
                if time.monotonic() > deadline:
                    raise TimeoutError(
                        f"another process has been starting or stopping it for {patience:.0f} s"
                    )
                time.sleep(POLL)
        yield lock
    finally:
        lock.release()


def is_held(folder: Path, name: str) -> bool:
    lock = Lock(folder, name)
    try:
        return not lock.try_acquire(fcntl.LOCK_EX)
    finally:
        lock.release()


def pid_file(folder: Path) -> list[str]:
    """Return the lines of postmaster.pid: the pid first, sockets fifth, status eighth."""
    try:
        return (folder / "data" / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return []


def command_of(pid: int) -> list[str] | None:
    """Return the command line of a process; empty for a zombie, None if unknown."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="surrogateescape").split("\0")[:-1]
    except OSError:
        return None


def postmaster(folder: Path) -> int | None:
    """Return the pid of the running postmaster; a stale file may name another process."""
    lines = pid_file(folder)
    if not lines:
        return None
    pid = int(lines[0])
    if Path("/proc/self").exists():
        return pid if str(folder / "data") in (command_of(pid) or []) else None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    return pid


def stop(folder: Path) -> None:
    """Stop the server and wait until its last process is gone. Needs the turn."""
    sockets = pid_file(folder)[4:5]
    for how, patience in STOP_PATIENCE:
        deadline = time.monotonic() + patience
        signalled = None
        while is_held(folder, "server") and time.monotonic() < deadline:
            # A server that was just started has not written its pid yet.
            pid = postmaster(folder)
            if pid is not None and pid != signalled:
                signalled = pid
                with suppress(ProcessLookupError):
                    os.kill(pid, how)
            time.sleep(POLL)
    if is_held(folder, "server"):
        raise TimeoutError("the server does not stop")
    for outside in sockets:
        if Path(outside).parent != folder:
            with suppress(OSError):
                Path(outside).rmdir()


def watch(folder: Path, existence: int) -> None:
    """Wait for the end of all users, and stop the server if none of them did."""
    while True:
        # The pulse is released before the turn is acquired: the holder of the turn may need it.
        pulse = Lock(folder, "pulse")
        pulse.acquire(fcntl.LOCK_EX)
        pulse.release()
        with turn(folder):
            if not is_held(folder, "users"):
                stop(folder)
                os.close(existence)
                return


if __name__ == "__main__":
    # The last user may remove the folder when it has left: create nothing in it. Without its locks
    # there is nothing left to stop.
    Lock.flags = os.O_RDWR
    with suppress(FileNotFoundError):
        watch(Path(sys.argv[1]), int(sys.argv[2]))
