"""Habits of libraries with processes and native threads of their own."""

import ctypes
import functools
import subprocess
import sys
import threading
from multiprocessing.shared_memory import SharedMemory

from tests.apps.hostile.habits import habit

_WORKER = "import sys\nfor line in sys.stdin: print(int(line) ** 2, flush=True)"


class _Reusable:
    """As loky: a worker process for the whole program, replaced when it has ended."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.worker: subprocess.Popen[str] | None = None

    def square(self, number: int) -> int:
        with self.lock:
            for _ in range(5):
                try:
                    return self.ask(number)
                except (OSError, ValueError):  # it has ended
                    self.worker = None
        raise AssertionError("no worker process stays")

    def ask(self, number: int) -> int:
        if self.worker is None:
            argv = [sys.executable, "-S", "-E", "-u", "-c", _WORKER]
            self.worker = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        assert self.worker.stdin is not None
        assert self.worker.stdout is not None
        self.worker.stdin.write(f"{number}\n")
        self.worker.stdin.flush()
        return int(self.worker.stdout.readline())


_REUSABLE = _Reusable()


@habit
def reusable_worker() -> None:
    """A worker process for the whole program, as joblib's, replaced when it has ended."""
    assert _REUSABLE.square(3) == 9


@functools.cache
def _native_threads() -> list[ctypes.c_ulong]:
    libc = ctypes.CDLL(None)
    threads = [ctypes.c_ulong() for _ in range(2)]
    pause = ctypes.cast(libc.pause, ctypes.c_void_p)
    for thread in threads:
        assert libc.pthread_create(ctypes.byref(thread), None, pause, None) == 0
    return threads


@habit
def native_threads() -> None:
    """Threads of C code that wait for work, as numpy's."""
    assert _native_threads()


@habit
def shared_memory() -> None:
    """multiprocessing.shared_memory, which starts a resource tracker."""
    memory = SharedMemory(create=True, size=64)
    memory.close()
    memory.unlink()
