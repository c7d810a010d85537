"""How soon an idle worker enters the function of a job that is enqueued."""

import random
import time
from collections.abc import Iterator

from bench import apps
from bench.figures import Figure, console, figure
from bench.notifying import floor
from bench.quantiles import quantile
from bench.working import Bench, worker
from tenure.app import Tenure
from tenure.control.task import Task

_SETTLES = 0.03  # seconds for a worker to be idle again
_FIRST = 10  # that are not counted: connections are opened, code is read


def pick_up(bench: Bench) -> Iterator[Figure]:
    """From the call of enqueue to the first line of the function."""
    n = bench.amounts.latencies
    console.print(f"picking up {n} jobs")
    with (
        bench.server.database() as url,
        Tenure(url) as app,
        worker(bench, url) as at_work,
        floor(url) as least,
    ):
        at_work.warm_up(app.store)
        task = app.task(name="entered")(apps.entered.function)
        taken, floors = [], []
        for _ in range(_FIRST + n):
            taken.append(milliseconds(task))
            pause()
            floors.append(least.milliseconds())
    taken, floors = taken[_FIRST:], floors[_FIRST:]
    two_commits = figure("two commits and a notification: p50", floors, "ms")
    yield two_commits
    yield figure(
        "enqueue called to function entered: p50", taken, "ms", against=two_commits, at_most=1.4
    )
    yield figure("enqueue called to function entered: p99", quantile(taken, 0.99), "ms")


def milliseconds(task: "Task[..., int]") -> float:
    """From the call of enqueue to the first line of the function."""
    pause()
    called = time.monotonic_ns()
    handle = task.enqueue()
    time.sleep(_SETTLES)  # a request for the result would slow the job down
    return (handle.result(timeout="60s") - called) / 1e6


def pause() -> None:
    """Let the worker become idle again."""
    time.sleep(_SETTLES * (1 + random.random()))  # noqa: S311 - in step with nothing
