"""Many jobs that take long: what they cost while they do, and how soon all of them are stopped."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import psycopg

from bench.figures import Figure, console, figure
from bench.processes import cpu, family_cpu, postmaster
from bench.weighing import IDLE_APP
from bench.working import Bench, worker
from tenure.app import Tenure
from tenure.domain.job import NewJob

_SETTLES = 3.0  # seconds
_LONGEST = 120.0
_SOME = 10  # jobs, to compare with
_FLAT = 5.0  # milliseconds in a second

_RUNNING = "SELECT count(*) FROM tenure.job WHERE state = 'running'"


@dataclass(frozen=True)
class Asleep:
    """The CPU that a worker used while its jobs slept, and when it had stopped them."""

    cpu: Mapping[str, float]  # milliseconds in a second
    stopped: float  # seconds


def sleep(bench: Bench) -> Iterator[Figure]:
    """Coroutines and functions, beside a few of each."""
    for task, many in (
        ("sleeps", bench.amounts.asleep),
        ("sleeps_in_process", bench.amounts.asleep_in_processes),
    ):
        few, all_of_them = _asleep(bench, task, _SOME), _asleep(bench, task, many)
        kind = "coroutines" if task == "sleeps" else "functions"
        for who, used in all_of_them.cpu.items():
            yield figure(f"{many:,} {kind} asleep: CPU of {who}", used, "ms/s")
            name = f"{many:,} {kind} asleep: CPU of {who} above that of {_SOME}"
            yield figure(name, max(used - few.cpu[who], 0), "ms/s", at_most=_FLAT)
        name = f"stop of {many:,} {kind} of one parent, until the record is closed"
        yield figure(name, all_of_them.stopped, "s", at_most=5)


def _asleep(bench: Bench, task: str, n: int) -> Asleep:
    console.print(f"{n:,} jobs asleep: {task}")
    kind = "--concurrency" if task == "sleeps" else "--processes"
    with (
        bench.server.database() as url,
        Tenure(url) as app,
        psycopg.connect(url, autocommit=True) as connection,
        worker(bench, url, kind, str(n), app=IDLE_APP) as at_work,
    ):
        children = [NewJob(task=task, parent="whole") for _ in range(n)]
        whole, *_ = app.store.enqueue([NewJob(task=None, key="whole"), *children])

        def all_run() -> bool:
            row = connection.execute(_RUNNING).fetchone()
            return row is not None and row[0] == n

        at_work.until(all_run, "all of them ran", _LONGEST, 0.1)
        time.sleep(_SETTLES)
        used = {
            "keeper": partial(cpu, at_work.keeper),
            "PostgreSQL": partial(family_cpu, postmaster(connection)),
        }
        before, began = {who: one() for who, one in used.items()}, time.monotonic()
        time.sleep(bench.amounts.idle)
        passed = time.monotonic() - began
        spent = {who: (one() - before[who]) / passed * 1e3 for who, one in used.items()}
        return Asleep(spent, _stop(app, whole.id, n))


def _stop(app: Tenure, job: int, n: int) -> float:
    began = time.perf_counter()
    record = app.handle(job).cancel(reason="measured", wait=True)
    seconds = time.perf_counter() - began
    stopped = sum(member.became == "cancelled" for member in record.members)
    if record.status != "completed" or stopped != n + 1:
        raise RuntimeError(f"the stop ended {record.status}: {stopped} of {n + 1} stopped")
    return seconds
