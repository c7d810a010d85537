"""Processes that a job started, with their descendants."""

import asyncio
import os
import threading
import time
from typing import Any

import psutil

from tenure.errors import CloseFailed, InputRefused
from tenure.runtime.resources.calls import in_thread
from tenure.runtime.resources.manager import ResourceManager
from tenure.runtime.resources.tree import ProcessTree

POLL = 0.005
KILL_PATIENCE = 0.8  # seconds until all killed processes are gone
REAP_PATIENCE = 0.2  # seconds for a process object to notice the end of its process


class ProcessResourceManager(ResourceManager):
    """A ``subprocess.Popen``, a process of asyncio or multiprocessing, or a pid; with its tree."""

    def __init__(self, process: Any) -> None:
        pid = process if isinstance(process, int) else getattr(process, "pid", None)
        if not isinstance(pid, int) or isinstance(pid, bool):
            raise InputRefused(f"{process!r} is neither a pid nor a process that was started")
        if pid in _self_and_ancestors():
            raise InputRefused(f"process {pid} is this process or one of its ancestors")
        self.process = process
        self.pid = pid
        try:
            self._tree: ProcessTree | None = ProcessTree(psutil.Process(pid))
        except (psutil.NoSuchProcess, ValueError):
            self._tree = None  # it has ended

    def is_active(self) -> bool:
        self._reap()
        return self._tree is not None and bool(self._tree.living())

    async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:
        if self._tree is None:
            return True
        tree, gave_up = self._tree, threading.Event()
        try:
            if not await in_thread(lambda: tree.terminate(timeout_seconds, gave_up)):
                return False
        finally:
            gave_up.set()
        await self._reaped()
        return True

    async def force_close(self) -> None:
        if self._tree is None:
            return
        tree = self._tree
        if not await in_thread(lambda: tree.kill(KILL_PATIENCE)):
            left = sorted(process.pid for process in tree.living())
            raise CloseFailed(f"processes {left} could not be killed")
        await self._reaped()

    async def _reaped(self) -> None:
        """Wait until the process object has noticed the end of its process."""
        deadline = time.monotonic() + REAP_PATIENCE
        while not self._reap() and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(POLL)

    def _reap(self) -> bool:
        if callable(poll := getattr(self.process, "poll", None)):
            return poll() is not None
        if hasattr(self.process, "exitcode"):
            return self.process.exitcode is not None
        # asyncio reaps its processes itself, in the loop that started them.
        return getattr(self.process, "returncode", 0) is not None


def _self_and_ancestors() -> set[int]:
    me = psutil.Process()
    return {os.getpid(), *(process.pid for process in me.parents())}
