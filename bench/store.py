"""Measure the store: ``python -m bench.store [--only NAME] [--quick]``."""

import sys
from collections.abc import Callable, Iterator, Mapping

from bench.beating import beat
from bench.claiming import claim_in_every_shape
from bench.enqueueing import enqueue_in_bulk
from bench.enqueueing_singly import enqueue_singly
from bench.exchanging import exchange, sustain
from bench.figures import Figure
from bench.measuring import measure
from bench.promoting import promote_targets
from bench.server import QUICK, Server, Sizes, serve
from bench.stopping import cancel_a_tree

PARTS: Mapping[str, Callable[[Server], Iterator[Figure]]] = {
    "exchange": exchange,
    "sustain": sustain,
    "enqueue": enqueue_in_bulk,
    "enqueue_singly": enqueue_singly,
    "claim": claim_in_every_shape,
    "promote": promote_targets,
    "cancel": cancel_a_tree,
    "beat": beat,
}


def main() -> int:
    return measure("store", __doc__, PARTS, lambda quick: serve(QUICK if quick else Sizes()))


if __name__ == "__main__":
    sys.exit(main())
