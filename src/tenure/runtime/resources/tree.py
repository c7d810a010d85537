"""A process and all its descendants, as a unit that can be ended."""

import signal
import threading
import time
from contextlib import suppress

import psutil

from tenure.runtime.guard.processes import is_alive

POLL = 0.005
SCAN_EVERY = 0.1  # seconds between two scans for new descendants; a scan reads all of /proc


class ProcessTree:
    """A process and its descendants.

    A descendant stays known after its parent dies and it gets another. A descendant whose parent
    died before the first scan is not found.
    """

    def __init__(self, root: psutil.Process) -> None:
        self.root = root
        self._known = {root}

    def living(self) -> set[psutil.Process]:
        """Return the known processes that run; a zombie has ended."""
        return {process for process in self._known if _lives(process)}

    def scan(self) -> set[psutil.Process]:
        """Return the descendants that were not known before."""
        parents = {process.pid for process in self.living()}
        families: dict[int, list[psutil.Process]] = {}
        for process in psutil.process_iter(["ppid"]):
            families.setdefault(process.info["ppid"], []).append(process)
        found: set[psutil.Process] = set()
        while parents:
            children = [child for parent in parents for child in families.get(parent, ())]
            found.update(children)
            parents = {child.pid for child in children}
        new = found - self._known
        self._known |= new
        return new

    def terminate(self, seconds: float, gave_up: threading.Event) -> bool:
        """Send SIGTERM to all of them, and wait; return whether all ended."""
        deadline = time.monotonic() + seconds
        self.scan()
        for process in self.living():
            _send(process, signal.SIGTERM)
            _send(process, signal.SIGCONT)  # a stopped process handles no signal
        scan_at = time.monotonic() + SCAN_EVERY
        while self.living():
            if time.monotonic() >= scan_at:
                self.scan()
                scan_at = time.monotonic() + SCAN_EVERY
            if time.monotonic() >= deadline or gave_up.wait(POLL):
                return False
        return not self.scan()

    def kill(self, seconds: float) -> bool:
        """Kill all of them repeatedly until none is left; return whether that was reached."""
        deadline = time.monotonic() + seconds
        while True:
            # Stopped first: a process that was found cannot start others during the scan.
            for process in self.living():
                _send(process, signal.SIGSTOP)
            while new := self.scan():
                for process in new:
                    _send(process, signal.SIGSTOP)
            for process in self.living():
                _send(process, signal.SIGKILL)
            while self.living():
                if time.monotonic() >= deadline:
                    return False
                time.sleep(POLL)
            if not self.scan():
                return True


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and is_alive(process.pid)
    except psutil.NoSuchProcess:
        return False


def _send(process: psutil.Process, signal_number: int) -> None:
    # psutil checks that the pid still belongs to the same process.
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        process.send_signal(signal_number)
