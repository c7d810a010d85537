"""Measure the page: ``python -m bench.page [--only NAME] [--quick]``."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager

from bench import server, working
from bench.figures import Figure
from bench.measuring import measure, worked
from bench.page_family import show_family
from bench.page_listing import list_jobs
from bench.page_viewing import watch_a_job
from bench.working import Bench

PARTS: Mapping[str, Callable[[Bench], Iterator[Figure]]] = {
    "list": list_jobs,
    "family": show_family,
    "viewers": watch_a_job,
}


def main() -> int:
    return measure("page", __doc__, PARTS, _surroundings)


def _surroundings(quick: bool) -> AbstractContextManager[Bench]:
    if quick:
        return worked(server.QUICK, working.QUICK)
    return worked(server.Sizes(), working.Amounts())


if __name__ == "__main__":
    sys.exit(main())
