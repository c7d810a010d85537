"""Interrupts that a runner does not acknowledge, because a job keeps it from listening.

Its loop is blocked, or C code keeps the thread that reads the wire from running. If one of the
interrupted jobs is the cause, a signal may interrupt it. There is one timer for each runner,
however many of its jobs are being stopped.
"""

import asyncio
import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tenure.runtime.keeper.background_tasks import BackgroundTasks
from tenure.runtime.keeper.runs.run import Run
from tenure.runtime.keeper.runs.runner import Runner

_log = logging.getLogger("tenure.worker")

_PATIENCE = 0.02  # seconds a runner may take to acknowledge an interrupt before it seems blocked
_ALONE = 0.003  # the same for a runner that has a single job, the first time


@dataclass(eq=False)
class Interrupts:
    tasks: BackgroundTasks

    def __post_init__(self) -> None:
        self._waiting: dict[Runner, dict[int, float]] = {}  # when each run was interrupted

    @contextmanager
    def insisting(self, run: Run, runner: Runner) -> Iterator[None]:
        """Signal a runner while it is kept by this run, until the interrupt is acknowledged."""
        waiting = self._waiting.get(runner)
        if waiting is None:
            waiting = self._waiting[runner] = {}
            self.tasks.start(self._watch(runner, waiting))
        waiting[run.number] = asyncio.get_running_loop().time()
        try:
            yield
        finally:
            waiting.pop(run.number, None)

    async def _watch(self, runner: Runner, waiting: dict[int, float]) -> None:
        loop = asyncio.get_running_loop()
        patience = _ALONE if runner.kind == "process" else _PATIENCE
        signalled: set[int] = set()
        try:
            while waiting:
                await asyncio.sleep(patience)
                for number in runner.acknowledged & waiting.keys():
                    del waiting[number]
                number = runner.page.on_cpu
                if number in waiting and loop.time() >= waiting[number] + patience:
                    runner.page.interrupt_target = number
                    if runner.signal(signal.SIGUSR1) and number not in signalled:
                        signalled.add(number)
                        _log_signal(runner, number)
                patience = _PATIENCE
        finally:
            del self._waiting[runner]


def _log_signal(runner: Runner, number: int) -> None:
    run = runner.runs.get(number)
    _log.info(
        "SIGUSR1 to %s (pid %d) of %s, which keeps its runner from listening",
        *(runner.name, runner.pid, run or "a run"),
        extra=None if run is None else run.about,
    )
