"""A process and everything it started, as one thing that can be ended."""

import signal
import threading
import time
from contextlib import suppress

import psutil

from tenure.runtime.guard.processes import is_alive

POLL = 0.005
LOOK_EVERY = 0.1  # seconds between two looks for new descendants; a look reads all of /proc


class ProcessTree:
    """A process and its descendants.

    What was seen once stays known, also when its parent dies and it is handed to another. A
    descendant that was handed on before anybody looked is not found.
    """

    def __init__(self, root: psutil.Process) -> None:
        self.root = root
        self._known = {root}

    def living(self) -> set[psutil.Process]:
        """What is known and runs; a zombie has ended."""
        return {process for process in self._known if _lives(process)}

    def look(self) -> set[psutil.Process]:
        """The descendants that were not known before."""
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
        """Ask all of them to end, and wait; say whether they did."""
        deadline = time.monotonic() + seconds
        self.look()
        for process in self.living():
            _send(process, signal.SIGTERM)
            _send(process, signal.SIGCONT)  # a stopped process hears nothing
        look_at = time.monotonic() + LOOK_EVERY
        while self.living():
            if time.monotonic() >= look_at:
                self.look()
                look_at = time.monotonic() + LOOK_EVERY
            if time.monotonic() >= deadline or gave_up.wait(POLL):
                return False
        return not self.look()

    def kill(self, seconds: float) -> bool:
        """Kill all of them, again and again until nothing is left; say whether that was reached."""
        deadline = time.monotonic() + seconds
        while True:
            # Frozen first: what is found cannot start anything while the rest is looked for.
            for process in self.living():
                _send(process, signal.SIGSTOP)
            while new := self.look():
                for process in new:
                    _send(process, signal.SIGSTOP)
            for process in self.living():
                _send(process, signal.SIGKILL)
            while self.living():
                if time.monotonic() >= deadline:
                    return False
                time.sleep(POLL)
            if not self.look():
                return True


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and is_alive(process.pid)
    except psutil.NoSuchProcess:
        return False


def _send(process: psutil.Process, signal_number: int) -> None:
    # psutil makes sure that the pid is still that of the process it saw.
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        process.send_signal(signal_number)
