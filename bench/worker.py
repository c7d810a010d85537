"""Measure a worker: ``python -m bench.worker [--only NAME] [--quick]``."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace

from bench import server
from bench.closing import force_close
from bench.crowding import crowd
from bench.enqueueing_singly import enqueue_singly
from bench.exchanging import sustain as sustain_verbs
from bench.figures import Figure
from bench.idling import count_queries
from bench.interrupting import interrupt, interrupt_deaf
from bench.killing import force, kill_runners
from bench.limiting import run_limited
from bench.measuring import measure, worked
from bench.picking_up import pick_up
from bench.running import run_coroutines, run_functions, sustain
from bench.sleeping import sleep
from bench.starting import start
from bench.stepping import ask, step
from bench.streaming import stream
from bench.weighing import weigh
from bench.working import QUICK, Amounts, Bench

PARTS: Mapping[str, Callable[[Bench], Iterator[Figure]]] = {
    "coroutines": run_coroutines,
    "sustain": sustain,
    "workers": crowd,
    "functions": run_functions,
    "limits": run_limited,
    "enqueue": lambda bench: enqueue_singly(bench.server),
    "verbs": lambda bench: sustain_verbs(bench.server),
    "pick-up": pick_up,
    "steps": step,
    "ask": ask,
    "stream": stream,
    "interrupt": interrupt,
    "deaf": interrupt_deaf,
    "force": force,
    "close": force_close,
    "killed": kill_runners,
    "memory": weigh,
    "starts": start,
    "queries": count_queries,
    "asleep": sleep,
}

_FEW = replace(server.QUICK, million=20_000)


def main() -> int:
    return measure("worker", __doc__, PARTS, _surroundings)


def _surroundings(quick: bool) -> AbstractContextManager[Bench]:
    amounts = QUICK if quick else Amounts()
    sys.stderr.write(f"{duration(amounts.seconds)}\n")
    return worked(_FEW if quick else server.Sizes(), amounts)


def duration(seconds: int) -> str:
    """Return the line that is printed first: how long the run takes."""
    long = f"{seconds} s" if seconds < 90 else f"{round(seconds / 60)} minutes"
    return f"all parts together take about {long} on an idle machine"


if __name__ == "__main__":
    sys.exit(main())
