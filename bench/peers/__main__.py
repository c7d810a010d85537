"""Measure Tenure beside its peers: ``python -m bench.peers [--only WORK] [--peer NAME] [--quick]``.

They take turns in every round, each in a fresh place. What was found is kept as JSON; from that the
table, the plot and docs/benchmarks.md are made.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench import server
from bench.figures import console
from bench.peers import report
from bench.peers.driving import Driver, Failed
from bench.peers.environments import FOLDER, Environment, Missing, environment
from bench.peers.listing import Peer, chosen
from bench.peers.measuring import QUICK, WORKS, Amounts, Figure
from bench.peers.programs.notes import Notes
from bench.peers.servers import Servers, serve

_KEPT = FOLDER / "peers.json"
_MEMORY = Path("/dev/shm")  # noqa: S108 - notes are to cost no writing to a disk


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--only", choices=WORKS, action="append", help="just this work")
    parser.add_argument("--peer", action="append", metavar="NAME", help="just this one and Tenure")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try it out")
    parser.add_argument("--kept", action="store_true", help="measure nothing: what the last found")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="also write the page and plot")
    args = parser.parse_args()
    run = report.kept(_KEPT) if args.kept else _run(args)
    report.show(run)
    if args.write:
        report.write(run, args.write)
    return 0


def _run(args: argparse.Namespace) -> report.Run:
    amounts = QUICK if args.quick else Amounts()
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tenure-bench-") as folder:
        there = _environments(chosen(args.peer))
        with serve(server.Sizes(), Path(folder)) as servers, _notes() as notes:
            run = report.Run(
                date=datetime.now(UTC).date().isoformat(),
                machine=report.machine(),
                servers=servers.versions,
                peers=[report.Told.of(peer, made) for peer, made in there.items()],
            )
            works = args.only or list(WORKS)
            for one in _measured(there, servers, works, amounts, Path(folder), notes):
                run.figures.append(one)
                report.keep(run, _KEPT)  # so that it outlives an interruption
    return run


def _environments(peers: tuple[Peer, ...]) -> dict[Peer, Environment]:
    made = {}
    for peer in peers:
        try:
            made[peer] = environment(peer)
        except Missing as why:
            sys.stderr.write(f"{peer.title} is left out: {why}\n")
    return made


@contextmanager
def _notes() -> Iterator[Notes]:
    place = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="tenure-bench-", dir=place) as folder:
        yield Notes(Path(folder))


def _measured(
    peers: dict[Peer, Environment],
    servers: Servers,
    works: list[str],
    amounts: Amounts,
    folder: Path,
    notes: Notes,
) -> Iterator[report.Found]:
    turns = [
        (work, peer)
        for work in works
        for _ in range(1 if WORKS[work].once else amounts.rounds)
        for peer in peers
    ]
    columns = (TextColumn("{task.description:40}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        bar = progress.add_task("", total=len(turns))
        for work, peer in turns:
            progress.update(bar, description=f"{work}: {peer.title}")
            for figure in _turn(peer, peers[peer], servers, work, amounts, folder, notes):
                report.tell(peer, figure)
                yield report.Found(peer.title, figure)
            progress.advance(bar)


def _turn(
    peer: Peer,
    made: Environment,
    servers: Servers,
    work: str,
    amounts: Amounts,
    folder: Path,
    notes: Notes,
) -> Iterator[Figure]:
    try:
        driver = Driver.begin(peer, made, servers, folder, notes)
        yield from WORKS[work].measure(driver, amounts)
    except (Failed, Missing) as why:
        for line in WORKS[work].lines:
            yield Figure(line.name, None, f"failed: {why}")


if __name__ == "__main__":
    sys.exit(main())
