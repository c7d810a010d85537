"""How soon an idle worker enters the function of a job that is enqueued."""

import random
import time
from collections.abc import Iterator

from bench import apps
from bench.figures import Figure, console, figure
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
    with bench.server.database() as url, Tenure(url) as app, worker(bench, url) as at_work:
        at_work.warm_up(app.store)
        task = app.task(name="entered")(apps.entered.function)
        taken = [milliseconds(task) for _ in range(_FIRST + n)][_FIRST:]
    yield figure("enqueue called to function entered: p50", taken, "ms", at_most=2.5)
    yield figure("enqueue called to function entered: p99", quantile(taken, 0.99), "ms")


def milliseconds(task: "Task[..., int]") -> float:
    """From the call of enqueue to the first line of the function."""
    time.sleep(_SETTLES * (1 + random.random()))  # noqa: S311 - in step with nothing
    called = time.monotonic_ns()
    handle = task.enqueue()
    time.sleep(_SETTLES)  # who asks for a result while the job is on its way slows it down
    return (handle.result(timeout="60s") - called) / 1e6
