"""Measure the store: ``python -m bench.store [--only NAME] [--quick]``."""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping

from bench.beating import beat
from bench.claiming import claim_in_every_shape
from bench.enqueueing import enqueue_in_bulk
from bench.exchanging import exchange, sustain
from bench.figures import Figure, summary, tell
from bench.promoting import promote_targets
from bench.server import QUICK, Server, Sizes, serve
from bench.stopping import cancel_a_tree

PARTS: Mapping[str, Callable[[Server], Iterator[Figure]]] = {
    "exchange": exchange,
    "sustain": sustain,
    "enqueue": enqueue_in_bulk,
    "claim": claim_in_every_shape,
    "promote": promote_targets,
    "cancel": cancel_a_tree,
    "beat": beat,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.store", description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="measure just this part")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try it out")
    chosen = parser.parse_args()
    told: list[Figure] = []
    with serve(QUICK if chosen.quick else Sizes()) as server:
        for name in chosen.only or PARTS:
            for one in PARTS[name](server):
                tell(one)
                told.append(one)
    summary(told)
    return 1 if any(one.met is False for one in told) else 0


if __name__ == "__main__":
    sys.exit(main())
