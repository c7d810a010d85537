"""Measure how many no-op jobs a worker runs per second, and what that costs each process.

The jobs wait in a paused queue until the worker is warm. Times come from the database clock: from
the start of the first job to the end of the last.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, LiteralString

import psycopg

from bench.exchanging import copy
from bench.figures import Figure, console, figure
from bench.filling import arguments, enqueue
from bench.loops import BareLoop, drain
from bench.processes import cpu, family_cpu, postmaster, spent
from bench.server import settle
from bench.working import WARM, Bench, Worker, worker
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.store.store import Store

QUEUE = "default"
CONCURRENCY = "1000"
PROCESSES = 2
EFFICIENCY = {1: 0.5, 10: 0.9, 100: 0.97}  # by milliseconds: the part of the time to reach
_LONGEST = 600.0  # seconds for one round

_LAST = """
    SELECT max(job.id) FROM tenure.job JOIN tenure.lane ON lane.id = job.lane WHERE lane.queue = %s
"""
_IS_DONE = "SELECT state >= 'completed' FROM tenure.job WHERE id = %s"
_ALL_ENDED = """
    SELECT NOT EXISTS (SELECT FROM tenure.job JOIN tenure.lane ON lane.id = job.lane
                       WHERE ready AND lane.queue = %(queue)s)
       AND NOT EXISTS (SELECT FROM tenure.job JOIN tenure.lane ON lane.id = job.lane
                       WHERE state = 'running' AND lane.queue = %(queue)s)
"""
_SPAN = """
    SELECT count(*) FILTER (WHERE job.state = 'completed'),
           extract(epoch FROM max(job.ended_at) - min(job.started_at))
    FROM tenure.job JOIN tenure.lane ON lane.id = job.lane WHERE lane.queue = %s
"""
_TENTHS = """
    WITH timed AS (
        SELECT job.ended_at, ntile(10) OVER (ORDER BY job.ended_at) AS tenth
        FROM tenure.job JOIN tenure.lane ON lane.id = job.lane WHERE lane.queue = %s
    )
    SELECT count(*) / extract(epoch FROM max(ended_at) - min(ended_at))
    FROM timed WHERE tenth IN (1, 10) GROUP BY tenth ORDER BY tenth
"""


@dataclass(frozen=True)
class Round:
    jobs: int
    seconds: float
    spent: Mapping[str, float]  # microseconds of CPU for one job
    tenths: tuple[float, float]  # jobs per second in the first and in the last tenth of the jobs

    @property
    def rate(self) -> float:
        return self.jobs / self.seconds


def run_coroutines(bench: Bench) -> Iterator[Figure]:
    """Alternate between a worker and the bare loop, each round on fresh tables."""
    jobs, rounds = bench.amounts.jobs, bench.amounts.rounds
    bare: list[float] = []
    ours: list[Round] = []
    for number in range(rounds):
        console.print(f"no-op coroutines, round {number + 1} of {rounds}")
        bare.append(_bare_round(bench))
        ours.append(drain_round(bench, bench.server.database(), jobs, "noop"))
    rates = [one.rate for one in ours]
    reference = figure(f"bare loop: {jobs:,} jobs on a bare table", bare, "jobs/s")
    yield reference
    yield figure(f"no-op coroutines: {jobs:,} jobs", rates, "jobs/s", at_least=25_000)
    yield figure(
        "no-op coroutines beside the bare loop", rates, "jobs/s", against=reference, at_least=0.6
    )
    yield from costs("no-op coroutines", ours)


def sustain(bench: Bench) -> Iterator[Figure]:
    """Run a million jobs without a pause."""
    jobs = bench.server.sizes.million
    database = bench.server.database(bench.server.with_a_million)
    console.print(f"{jobs:,} no-op coroutines")
    long = drain_round(bench, database, jobs, None)
    yield figure(f"no-op coroutines: {jobs:,} jobs", long.rate, "jobs/s", at_least=20_000)
    first = figure("sustained: first tenth of the jobs", long.tenths[0], "jobs/s")
    yield first
    name = "sustained: last tenth of the jobs"
    yield figure(name, long.tenths[1], "jobs/s", against=first, at_least=0.85)
    yield from costs("sustained", [long])


def run_functions(bench: Bench) -> Iterator[Figure]:
    """Run functions that do nothing, then some that take 1, 10 and 100 ms."""
    jobs, rounds = bench.amounts.in_processes, bench.amounts.rounds
    ours: list[Round] = []
    for number in range(rounds):
        console.print(f"no-op functions in processes, round {number + 1} of {rounds}")
        ours.append(drain_round(bench, bench.server.database(), jobs, "noop_in_process"))
    name = f"no-op functions in {PROCESSES} processes"
    rates = [one.rate for one in ours]
    yield figure(f"{name}: {jobs:,} jobs", rates, "jobs/s", at_least=8_000)
    yield from costs(name, ours)
    for ms, goal in EFFICIENCY.items():
        name = f"functions of {ms} ms in {PROCESSES} processes"
        part = efficiency(bench, ms)
        yield figure(name, part, "of the time", at_least=goal)


def efficiency(bench: Bench, ms: int) -> float:
    """Return the part of the time of all processes in which functions ran."""
    console.print(f"functions that take {ms} ms")
    work = max(bench.amounts.work, 20 * ms / 1000) * PROCESSES
    database, jobs = bench.server.database(), round(work / ms * 1000)
    done = drain_round(bench, database, jobs, "works_in_process", args={"ms": ms})
    return jobs * ms / 1000 / (done.seconds * PROCESSES)


def costs(name: str, rounds: list[Round]) -> Iterator[Figure]:
    """Yield the CPU time of each process, which shows what bounds the rate."""
    for who in rounds[0].spent:
        each = [one.spent[who] for one in rounds]
        yield figure(f"{name}: CPU of {who}", median(each), "us/job")


def _nobody(_: str) -> AbstractContextManager[object]:
    return nullcontext()


def drain_round(
    bench: Bench,
    database: AbstractContextManager[str],
    jobs: int,
    task: str | None,
    beside: Callable[[str], AbstractContextManager[object]] = _nobody,
    args: Mapping[str, object] | None = None,
    limit: Mapping[str, Any] | None = None,
) -> Round:
    """Run one round while ``beside`` is active.

    Without a task, the jobs are in the database already.
    """
    with (
        database as url,
        Store(url) as store,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        store.pause_dispatch("queue", QUEUE)
        if limit is not None:
            store.set_limit("wide", **limit)
        if task is not None:
            limits = None if limit is None else ["wide"]
            enqueue(connection, jobs, task=task, args=args, limits=limits)
        settle(connection)
        last = _one(connection, _LAST, (QUEUE,))
        options = ("--concurrency", CONCURRENCY, "--processes", str(PROCESSES))
        with worker(bench, url, *options) as at_work:
            watched = _warm_up(at_work, store, task, args)
            watched["PostgreSQL"] = partial(family_cpu, postmaster(connection))
            with beside(url):
                before = {who: used() for who, used in watched.items()}
                store.resume_dispatch("queue", QUEUE)
                wait_for_all(at_work, connection, last)
                used = spent(before, {who: used() for who, used in watched.items()}, jobs)
        return _told(connection, jobs, used)


def wait_for_all(at_work: Worker, connection: psycopg.Connection, last: int | None = None) -> None:
    """Wait until all jobs have ended; poll only the last one at first, to keep polling cheap."""
    last = last or _one(connection, _LAST, (QUEUE,))
    at_work.until(lambda: _one(connection, _IS_DONE, (last,)), "the last job ended", _LONGEST, 0.1)
    at_work.until(lambda: _one(connection, _ALL_ENDED, {"queue": QUEUE}), "all jobs ended")


def span(connection: psycopg.Connection, jobs: int) -> float:
    """Return seconds from the first start to the last end of the measured jobs."""
    row = connection.execute(_SPAN, (QUEUE,)).fetchone()
    assert row is not None
    done, seconds = row
    if done != jobs:
        raise RuntimeError(f"{done:,} of {jobs:,} jobs completed; what became of the others?")
    return float(seconds)


def _warm_up(
    at_work: Worker, store: Store, task: str | None, args: Mapping[str, object] | None
) -> dict[str, Callable[[], float]]:
    """Start the runners that are needed; return a reader of CPU seconds for each process."""
    loop_runner = at_work.warm_up(store)
    if task not in ("noop_in_process", "works_in_process"):
        return {
            "keeper": partial(cpu, at_work.keeper),
            "guard": partial(cpu, at_work.guard),
            "loop runner": partial(cpu, loop_runner),
        }
    # One job for each process, all at once, so that every process starts.
    jobs = [NewJob(task=task, args=args or {"n": 0}, queue=WARM) for _ in range(PROCESSES)]
    made = [job.id for job in store.enqueue(jobs)]
    at_work.until(
        lambda: all(store.show(job).state is State.COMPLETED for job in made),
        "the processes were begun",
    )
    # Counted together, because runners come and go.
    return {
        "keeper": partial(cpu, at_work.keeper),
        "guard and runners": partial(family_cpu, at_work.guard),
    }


def _one(connection: psycopg.Connection, statement: LiteralString, values: Any = None) -> Any:
    row = connection.execute(statement, values, prepare=True).fetchone()
    assert row is not None
    return row[0]


def _told(connection: psycopg.Connection, jobs: int, used: Mapping[str, float]) -> Round:
    seconds = span(connection, jobs)
    first, last = (float(rate) for (rate,) in connection.execute(_TENTHS, (QUEUE,)))
    return Round(jobs, seconds, used, (first, last))


def _bare_round(bench: Bench) -> float:
    with psycopg.connect(bench.server.url, autocommit=True) as connection:
        BareLoop.create_table(connection)
        copy(connection, arguments(bench.amounts.jobs))
        settle(connection)
        return drain(BareLoop(connection))
