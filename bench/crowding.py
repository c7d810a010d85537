"""Eight workers beside two on one machine: more of them are not to make it slower."""

from collections.abc import Iterator

from bench.figures import Figure, console, figure
from bench.scale.workers import drain_with
from bench.working import Bench

_FEW, _MANY = 2, 8


def crowd(bench: Bench) -> Iterator[Figure]:
    """Take turns, each round on fresh tables."""
    rounds, jobs = bench.amounts.rounds, bench.amounts.jobs
    rates: dict[int, list[float]] = {_FEW: [], _MANY: []}
    costs: dict[int, list[float]] = {_FEW: [], _MANY: []}
    for number in range(rounds):
        console.print(f"{_FEW} and {_MANY} workers, round {number + 1} of {rounds}")
        for n in (_FEW, _MANY):
            rate, cost = drain_with(bench, n, jobs)
            rates[n].append(rate)
            costs[n].append(cost)
    few = figure(f"no-op coroutines of {_FEW} workers", rates[_FEW], "jobs/s")
    yield few
    name = f"no-op coroutines of {_MANY} workers"
    yield figure(name, rates[_MANY], "jobs/s", against=few, at_least=1)
    for n, each in costs.items():
        yield figure(f"no-op coroutines of {n} workers: CPU of PostgreSQL", each, "us/job")
