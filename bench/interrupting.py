"""How soon a coroutine is interrupted after somebody asked for its stop."""

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from bench import apps
from bench.figures import Figure, console, figure
from bench.notifying import floor
from bench.picking_up import pause
from bench.quantiles import quantile
from bench.working import Bench, Worker, worker
from tenure.app import Tenure
from tenure.control.handle import Handle

_SETTLES = 0.03  # seconds for a worker to be idle again
_FIRST = 5  # that are not counted
_BEAT = 5.0  # seconds, by default

_LISTENER = """
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'tenure notices'
"""


def interrupt(bench: Bench) -> Iterator[Figure]:
    """From the call of cancel to the first line of the handler of CancelledError."""
    n = bench.amounts.latencies
    console.print(f"interrupting {n} coroutines")
    with (
        bench.server.database() as url,
        Tenure(url) as app,
        worker(bench, url) as at_work,
        floor(url) as least,
    ):
        taken, floors = [], []
        for _ in range(_FIRST + n):
            taken.append(_one_at_a_time(app, at_work))
            pause()
            floors.append(least.milliseconds())
    taken, floors = taken[_FIRST:], floors[_FIRST:]
    two_commits = figure("two commits and a notification: p50", floors, "ms")
    yield two_commits
    yield figure(
        "stop asked to coroutine interrupted: p50", taken, "ms", against=two_commits, at_most=1.4
    )
    yield figure("stop asked to coroutine interrupted: p99", quantile(taken, 0.99), "ms")


def interrupt_deaf(bench: Bench) -> Iterator[Figure]:
    """Stops at moments that have nothing to do with the beat, which brings them."""
    n = bench.amounts.beats
    console.print(f"interrupting {n} coroutines of a worker that hears no notices")
    with bench.server.database() as url, Tenure(url) as app, worker(bench, url) as at_work:
        jobs = [_entered(app, at_work) for _ in range(n)]
        with _deaf(url):
            asked = {}
            for job in jobs:
                time.sleep(min(_BEAT / n, 0.5) * 2 * random.random())  # noqa: S311
                asked[job.id] = time.monotonic_ns()
                job.cancel()
            taken = [_interrupted(at_work, job, asked[job.id]) for job in jobs]
    name = f"stop asked to coroutine interrupted, without NOTIFY (beat of {_BEAT:g} s)"
    yield figure(f"{name}: p50", taken, "ms")
    yield figure(f"{name}: longest of {n}", max(taken), "ms")


@contextmanager
def _deaf(url: str) -> Iterator[None]:
    """Stop the server's process at the other end: a worker takes half a minute to find out."""
    with psycopg.connect(url, autocommit=True) as connection:
        listeners = [pid for (pid,) in connection.execute(_LISTENER)]
    assert listeners, "the worker does not listen"
    for pid in listeners:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in listeners:
            os.kill(pid, signal.SIGCONT)


def _one_at_a_time(app: Tenure, at_work: Worker) -> float:
    job = _entered(app, at_work)
    pause()
    asked = time.monotonic_ns()
    job.cancel()
    time.sleep(_SETTLES)
    return _interrupted(at_work, job, asked)


def _entered(app: Tenure, at_work: Worker) -> "Handle[None]":
    task = app.tasks.get("waits") or app.task(name="waits", retry=0)(apps.waits.function)
    job: Handle[None] = task.enqueue()
    at_work.noted(f"entered-{job.id}")
    return job


def _interrupted(at_work: Worker, job: "Handle[None]", asked: int) -> float:
    [at] = at_work.noted(f"interrupted-{job.id}")
    return (at - asked) / 1e6
