"""Measure a worker: ``python -m bench.worker [--only NAME] [--quick]``."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from bench import server
from bench.closing import force_close
from bench.figures import Figure, summary, tell
from bench.idling import count_queries
from bench.interrupting import interrupt, interrupt_deaf
from bench.killing import force, kill_runners
from bench.picking_up import pick_up
from bench.running import run_coroutines, run_functions, sustain
from bench.weighing import weigh
from bench.working import QUICK, Amounts, Bench

PARTS: Mapping[str, Callable[[Bench], Iterator[Figure]]] = {
    "coroutines": run_coroutines,
    "sustain": sustain,
    "functions": run_functions,
    "pick-up": pick_up,
    "interrupt": interrupt,
    "deaf": interrupt_deaf,
    "force": force,
    "close": force_close,
    "killed": kill_runners,
    "memory": weigh,
    "queries": count_queries,
}

_FEW = replace(server.QUICK, million=20_000)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.worker", description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="measure just this part")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try it out")
    chosen = parser.parse_args()
    amounts = QUICK if chosen.quick else Amounts()
    sys.stderr.write(f"{duration(amounts.seconds)}\n")
    told: list[Figure] = []
    with (
        tempfile.TemporaryDirectory(prefix="tenure-bench-") as folder,
        server.serve(_FEW if chosen.quick else server.Sizes()) as database,
    ):
        bench = Bench(database, amounts, Path(folder))
        for name in chosen.only or PARTS:
            for one in PARTS[name](bench):
                tell(one)
                told.append(one)
    summary(told)
    return 1 if any(one.met is False for one in told) else 0


def duration(seconds: int) -> str:
    """What is said before anything else."""
    long = f"{seconds} s" if seconds < 90 else f"{round(seconds / 60)} minutes"
    return f"all parts together take about {long} on an idle machine"


if __name__ == "__main__":
    sys.exit(main())
