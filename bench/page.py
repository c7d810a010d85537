"""Measure the page: ``python -m bench.page [--only NAME] [--quick]``."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bench import server, working
from bench.figures import Figure, summary, tell
from bench.page_listing import list_jobs
from bench.page_viewing import watch_a_job
from bench.working import Bench

PARTS: Mapping[str, Callable[[Bench], Iterator[Figure]]] = {
    "list": list_jobs,
    "viewers": watch_a_job,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.page", description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="measure just this part")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try it out")
    chosen = parser.parse_args()
    told: list[Figure] = []
    with (
        tempfile.TemporaryDirectory(prefix="tenure-bench-") as folder,
        server.serve(server.QUICK if chosen.quick else server.Sizes()) as database,
    ):
        amounts = working.QUICK if chosen.quick else working.Amounts()
        bench = Bench(database, amounts, Path(folder))
        for name in chosen.only or PARTS:
            for one in PARTS[name](bench):
                tell(one)
                told.append(one)
    summary(told)
    return 1 if any(one.met is False for one in told) else 0


if __name__ == "__main__":
    sys.exit(main())
