"""Measure what limits cost: jobs without any, beside jobs whose limits are wide."""

from collections.abc import Iterator, Mapping
from typing import Any

from bench.figures import Figure, console, figure
from bench.running import Round, drain_round
from bench.working import Bench

WIDE: Mapping[str, Mapping[str, Any]] = {
    "a wide rate": {"rates": {"calls": {"amount": 10**9, "per": "1s"}}},
    "a wide number at once": {"at_once": 1_000_000},
}


def run_limited(bench: Bench) -> Iterator[Figure]:
    """Alternate between jobs without limits and jobs with a wide one."""
    jobs, rounds = bench.amounts.jobs, bench.amounts.rounds
    plain: list[Round] = []
    limited: dict[str, list[Round]] = {name: [] for name in WIDE}
    for number in range(rounds):
        console.print(f"jobs with limits, round {number + 1} of {rounds}")
        plain.append(drain_round(bench, bench.server.database(), jobs, "noop"))
        for name, limit in WIDE.items():
            done = drain_round(bench, bench.server.database(), jobs, "noop", limit=limit)
            limited[name].append(done)
    reference = figure(f"jobs without limits: {jobs:,} jobs", [one.rate for one in plain], "jobs/s")
    yield reference
    for name, ours in limited.items():
        rates = [one.rate for one in ours]
        yield figure(f"jobs with {name}", rates, "jobs/s", against=reference, at_least=0.8)
