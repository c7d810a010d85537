"""What every benchmark does: its parts, all or some, and each figure as soon as it is known."""

import argparse
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

from bench import server
from bench.figures import Figure, summary, tell
from bench.working import Amounts, Bench

T = TypeVar("T")


def measure(
    name: str,
    about: str | None,
    parts: Mapping[str, Callable[[T], Iterator[Figure]]],
    surroundings: Callable[[bool], AbstractContextManager[T]],
) -> int:
    """As a program: 1 if a goal was missed. It asks for its surroundings, small ones if quick."""
    parser = argparse.ArgumentParser(prog=f"python -m bench.{name}", description=about)
    parser.add_argument("--only", choices=parts, action="append", help="measure just this part")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try it out")
    chosen = parser.parse_args()
    told: list[Figure] = []
    with surroundings(chosen.quick) as there:
        for part in chosen.only or parts:
            for one in parts[part](there):
                tell(one)
                told.append(one)
    summary(told)
    return 1 if any(one.met is False for one in told) else 0


@contextmanager
def worked(sizes: server.Sizes, amounts: Amounts) -> Iterator[Bench]:
    """A database, and a folder for those who work on it."""
    with (
        tempfile.TemporaryDirectory(prefix="tenure-bench-") as folder,
        server.serve(sizes) as database,
    ):
        yield Bench(database, amounts, Path(folder))
