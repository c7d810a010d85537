"""``tenure worker --reload``: start the worker again when a file of the code changes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

_POLL = 0.3  # seconds between two looks at the files
_PATIENCE = 2.0  # seconds for running jobs to finish; then they are stopped, and run again
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "venv"})
_REPEAT = 0.5  # seconds between two signals to a worker that is to end at once

Snapshot = dict[str, tuple[int, int]]


def run_reloading(words: Sequence[str]) -> int:
    """Run ``tenure`` with these words until a signal; return its exit code."""
    return _Reloader(words, Path.cwd()).run()


class _Reloader:
    def __init__(self, words: Sequence[str], folder: Path) -> None:
        self._words = words
        self._folder = folder
        self._is_leaving = False

    def run(self) -> int:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._leave)
        while True:
            before = snapshot(self._folder)
            worker = self._start()
            changed = self._wait(worker, before)
            code = _end(worker, 0.0 if self._is_leaving else _PATIENCE)
            if self._is_leaving:
                return code
            _say(f"{changed} changed: the worker starts again")

    def _leave(self, _signal: int, _frame: FrameType | None) -> None:
        self._is_leaving = True

    def _start(self) -> "subprocess.Popen[bytes]":
        # In a session of its own: Ctrl-C reaches this process, which ends the worker at once.
        return subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-m", "tenure", *self._words], start_new_session=True
        )

    def _wait(self, worker: "subprocess.Popen[bytes]", before: Snapshot) -> str:
        """Wait for a change of the code or a signal; return the file that changed."""
        has_ended = False
        while not self._is_leaving:
            if worker.poll() is not None and not has_ended:
                has_ended = True
                _say(f"the worker ended with code {worker.returncode}; waiting for a change")
            after = snapshot(self._folder)
            if changes := before.items() ^ after.items():
                return min(os.path.relpath(path, self._folder) for path, _ in changes)
            time.sleep(_POLL)
        return ""


def snapshot(folder: Path) -> Snapshot:
    """Return the time and size of each Python file below a folder."""
    found: Snapshot = {}
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _SKIPPED and name[0] != "."]
        for name in files:
            if name.endswith(".py"):
                with suppress(OSError):  # it was removed meanwhile
                    file = f"{path}/{name}"
                    seen = Path(file).stat()
                    found[file] = (seen.st_mtime_ns, seen.st_size)
    return found


def _end(worker: "subprocess.Popen[bytes]", patience: float) -> int:
    """Drain a worker; a second signal stops its running jobs, which run again later.

    Signals are repeated: two that are sent at the same time arrive as one.
    """
    while worker.poll() is None:
        worker.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            worker.wait(max(patience, _REPEAT))
    return worker.returncode


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()
