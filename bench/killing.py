"""Measure how fast a process tree is killed, and how fast a job recovers from an outside kill."""

import os
import select
import signal
import time
from collections.abc import Iterator, Sequence

from bench import apps
from bench.figures import Figure, console, figure
from bench.working import PATIENCE, Bench, Worker, worker
from tenure.app import Tenure

_GRANDCHILDREN = 3
_SETTLES = 1.5  # seconds for a spare runner to start


def force(bench: Bench) -> Iterator[Figure]:
    """Measure from the call of cancel until no process of the job is left."""
    n = bench.amounts.kills
    taken: list[float] = []
    with bench.server.database() as url, Tenure(url) as app, worker(bench, url) as at_work:
        hogs = app.task(name="hogs", retry=0)(apps.hogs.function)
        for number in range(n):
            console.print(f"forced stop {number + 1} of {n}")
            time.sleep(_SETTLES)
            job = hogs.enqueue(grandchildren=_GRANDCHILDREN)
            tree = at_work.noted(f"pid-{job.id}", _GRANDCHILDREN + 1)
            with Watched(tree) as watched:
                asked = time.monotonic()
                job.cancel(force=True)
                watched.gone()
                taken.append(time.monotonic() - asked)
    name = "forced stop of a loop that holds the GIL, with grandchildren, to tree gone"
    yield figure(f"{name}: p50", taken, "s")
    yield figure(f"{name}: longest of {n}", max(taken), "s", at_most=1)


def kill_runners(bench: Bench) -> Iterator[Figure]:
    """Measure from kill -9 until the function starts again in another process."""
    n = bench.amounts.kills
    taken: list[float] = []
    with bench.server.database() as url, Tenure(url) as app, worker(bench, url) as at_work:
        task = app.task(name="runs_again")(apps.runs_again.function)
        for number in range(n):
            console.print(f"runner killed, {number + 1} of {n}")
            job = task.enqueue()
            at_work.noted(f"entered-{job.id}")
            [pid] = at_work.noted(f"pid-{job.id}")
            time.sleep(_SETTLES)
            killed = time.monotonic_ns()
            os.kill(pid, signal.SIGKILL)
            taken.append(_entered_again(at_work, job.id, killed))
            job.cancel(wait=True)
    yield figure("runner killed to job running again: p50", taken, "s", at_most=0.5)
    yield figure(f"runner killed to job running again: longest of {n}", max(taken), "s")


def _entered_again(at_work: Worker, job: int, killed: int) -> float:
    _, again = at_work.noted(f"entered-{job}", 2)
    return (again - killed) / 1e9


class Watched:
    """Watch processes for their exit through pidfds, children or not."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._ends = [os.pidfd_open(pid) for pid in pids]

    def gone(self) -> None:
        """Wait until the last process has ended."""
        waiting = select.poll()
        for end in self._ends:
            waiting.register(end, select.POLLIN)
        left = len(self._ends)
        while left:
            ended = waiting.poll(PATIENCE * 1000)
            if not ended:
                raise RuntimeError(f"{left} processes of the job were not gone in {PATIENCE:g} s")
            for end, _ in ended:
                waiting.unregister(end)
            left -= len(ended)

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, *_: object) -> None:
        for end in self._ends:
            os.close(end)
