"""Prove from outside that code is alive: it appends the time to a file of its own every 20 ms.

Imports only the standard library: spawned processes import this module too.
"""

import os
import shlex
import sys
import threading
import time
from pathlib import Path

EVERY = 0.02  # seconds
AT_MOST = 90.0  # seconds; no leftover of a failed test stays for longer


class Here:
    """The files of one scenario: when its code ran, which processes and threads it is in."""

    def __init__(self, folder: str | Path, number: int) -> None:
        self.beats = str(Path(folder) / f"beats-{number}")
        self.threads = str(Path(folder) / f"threads-{number}")
        self.ports = str(Path(folder) / f"ports-{number}")
        self.runners = str(Path(folder) / f"runners-{number}")
        self.readiness = str(Path(folder) / f"ready-{number}")

    def beat(self) -> None:
        beat(self.beats)

    def beat_for_ever(self) -> None:
        beat_for_ever(self.beats)

    def name_thread(self, thread: int) -> None:
        """Record the kernel's id of a thread of this process that cannot beat."""
        append(self.threads, f"{os.getpid()} {thread}")

    def name_port(self, port: int) -> None:
        append(self.ports, str(port))

    def beater(self, *flags: str) -> list[str]:
        """Return the command line of a program that beats; flag `deaf` ignores polite signals."""
        return [sys.executable, "-S", "-E", "-c", _BEATER, self.beats, *flags]

    def shell_beater(self, *flags: str) -> str:
        return shlex.join(self.beater(*flags))

    def wait_for_beats(self, seconds: float = 10.0) -> None:
        """Return when something beats."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if Path(self.beats).exists():
                return
            time.sleep(0.005)


def append(path: str, line: str) -> None:
    """Append a line in one write; works in a forked child too."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.write(file, f"{line}\n".encode())
    os.close(file)


def beat(path: str) -> None:
    append(path, f"{time.time_ns()} {os.getpid()} {threading.get_native_id()}")


def close_output() -> None:
    """Let go of the pipes to the job's log, as every daemon does."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def beat_for_ever(path: str) -> None:
    until = time.monotonic() + AT_MOST
    while time.monotonic() < until:
        beat(path)
        time.sleep(EVERY)


_BEATER = f"""
import os, signal, sys, time
if "deaf" in sys.argv:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
for output in (1, 2):
    os.dup2(os.open(os.devnull, os.O_WRONLY), output)
file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
until = time.monotonic() + {AT_MOST}
while time.monotonic() < until:
    os.write(file, b"%d %d %d\\n" % (time.time_ns(), os.getpid(), os.getpid()))
    time.sleep({EVERY})
"""
