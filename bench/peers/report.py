"""What was found: told while it is measured, kept as JSON, shown as a table, a plot and a page."""

import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import msgspec
from rich.console import Console

from bench.peers.environments import Environment
from bench.peers.listing import Peer
from bench.peers.measuring import WORKS, Figure, Line
from bench.peers.plot import OURS, Bar, number, plot, ranked

LINES = tuple(line for work in WORKS.values() for line in work.lines)


class Told(msgspec.Struct, frozen=True):
    """A peer as it was measured."""

    title: str
    version: str
    server: str
    settings: str

    @classmethod
    def of(cls, peer: Peer, made: Environment) -> "Told":
        said = f"concurrency {peer.concurrency:,}; {peer.settings}"
        if peer.isolation:
            said = f"{said}; plain functions: one {peer.isolation} each at a time"
        return cls(peer.title, made.version, peer.server.value, said)


class Found(msgspec.Struct, frozen=True):
    peer: str
    figure: Figure


class Run(msgspec.Struct):
    date: str
    machine: str
    servers: dict[str, str]
    peers: list[Told]
    figures: list[Found] = msgspec.field(default_factory=list)
    remarks: list[str] = msgspec.field(default_factory=list)  # sentences about the run

    def cell(self, peer: str, line: Line) -> "float | str | None":
        """The median of the rounds; a word where there is no number; nothing if not measured."""
        rounds = [
            it.figure for it in self.figures if it.peer == peer and it.figure.line == line.name
        ]
        values = [it.value for it in rounds if it.value is not None]
        if values:
            return median(values)
        return next((it.why for it in rounds if it.why), None)

    def best(self, line: Line) -> float | None:
        cells = [self.cell(peer.title, line) for peer in self.peers]
        numbers = [cell for cell in cells if isinstance(cell, float)]
        if not numbers:
            return None
        return max(numbers) if line.more_is_better else min(numbers)

    @property
    def lines(self) -> Iterator[Line]:
        """Those of which something was measured."""
        measured = {found.figure.line for found in self.figures}
        return (line for line in LINES if line.name in measured)


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}"
    )


def tell(peer: Peer, figure: Figure) -> None:
    sys.stdout.write(msgspec.json.encode({"peer": peer.title, "figure": figure}).decode() + "\n")
    sys.stdout.flush()


def keep(run: Run, file: Path) -> None:
    file.write_bytes(msgspec.json.format(msgspec.json.encode(run)))


def kept(file: Path) -> Run:
    if not file.exists():
        raise SystemExit(f"nothing was measured yet: there is no {file}")
    return msgspec.json.decode(file.read_bytes(), type=Run)


def show(run: Run) -> None:
    """A paragraph for each line of the table, the best first; it fits into any terminal."""
    console = Console(stderr=True, highlight=False)
    for line in run.lines:
        told = [
            f"[bold]{bar.name}[/bold] {said}" if bar.name == OURS else f"{bar.name} {said}"
            for bar in ranked(_bars(run, line), more=line.more_is_better)
            for said in [number(bar.value)]
        ]
        console.print(f"[underline]{line.name}[/underline] ({line.unit})")
        console.print(f"  {' · '.join(told)}")


def _bars(run: Run, line: Line) -> list[Bar]:
    return [Bar(peer.title, run.cell(peer.title, line)) for peer in run.peers]


def write(run: Run, folder: Path) -> None:
    """``benchmarks.md`` and the plots that it shows."""
    pictures = folder / "pictures"
    for line in run.lines:
        name = f"{line.name} ({line.unit}, {'more' if line.more_is_better else 'less'} is better)"
        (pictures / _picture(line)).write_text(
            plot(name, _bars(run, line), more=line.more_is_better)
        )
    (folder / "benchmarks.md").write_text(_page(run))


def _picture(line: Line) -> str:
    words = "".join(sign if sign.isalnum() else " " for sign in line.name).split()
    return f"bench-{'-'.join(words)}.svg"


def _page(run: Run) -> str:
    settings = [[peer.title, peer.version, peer.server, peer.settings] for peer in run.peers]
    servers = "; ".join(f"{name} {told}" for name, told in run.servers.items())
    pictures = "\n\n".join(f"![{line.name}](pictures/{_picture(line)})" for line in run.lines)
    return _PAGE.format(
        date=run.date,
        rounds=_rounds(run),
        machine=run.machine,
        servers=servers,
        tables="\n\n".join(_tables(run)),
        remarks="".join(f"{remark}\n\n" for remark in run.remarks),
        settings=_table(["peer", "version", "server", "settings"], settings),
        behind=_behind(run),
        pictures=pictures,
    )


def _rounds(run: Run) -> str:
    times = {
        line.name: sum(it.peer == OURS and it.figure.line == line.name for it in run.figures)
        for line in run.lines
    }
    most = max(times.values())
    fewer = [f"{name}: {n}" for name, n in times.items() if n < most]
    return f"{most} rounds" + (f" ({'; '.join(fewer)})" if fewer else "")


def _tables(run: Run) -> Iterator[str]:
    """One for each unit: what is counted, what is waited for, what is weighed."""
    for unit in dict.fromkeys(line.unit for line in run.lines):
        lines = [line for line in run.lines if line.unit == unit]
        rows = [[it.title, *(_cell(run, it.title, line) for line in lines)] for it in run.peers]
        yield _table([unit, *(line.name for line in lines)], rows)


def _behind(run: Run) -> str:
    """Where somebody else has the better number, and what ours is made of."""
    told = []
    for line in run.lines:
        ours, best = run.cell(OURS, line), run.best(line)
        if isinstance(ours, float) and ours != best:
            who = next(it.title for it in run.peers if run.cell(it.title, line) == best)
            said = f"{who} {number(best)} {line.unit}, {OURS} {number(ours)} {line.unit}"
            told.append(f"- **{line.name}**: {said}. {line.bound}")
    return "\n".join(told) or "Nowhere, in this run."


def _cell(run: Run, peer: str, line: Line) -> str:
    cell = run.cell(peer, line)
    return f"**{number(cell)}**" if cell is not None and cell == run.best(line) else number(cell)


def _table(head: list[str], rows: list[list[str]]) -> str:
    ruler = ["---"] * len(head)
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ruler, *rows])


_PAGE = """\
# Tenure and its peers

Made by `make bench-peers` from one run, on {date}.

Every peer did the same work on the same machine, in turns, each time in a fresh database; the
figures are medians of {rounds}. Worker and server share the machine, which has {machine}.
{servers}.

{tables}

{remarks}The best of each column is bold. *cannot*: the peer has no means for it. *failed*: it was
tried, and the peer gave an error. Redis keeps nothing on disk here, PostgreSQL everything: their
rows are not equal in what they promise.

## Where Tenure is not first

{behind}

## What is measured

- **enqueue**: one call after the other, awaited; in bulk by the fastest documented way.
- **drain**: jobs that do nothing, per second, from the moment at which each worker has run one
  until all are done and on record.
- **drain, plain functions**: the same with a function that is not a coroutine, run as the peer
  documents it; in a process or in a thread, as the settings below say.
- **drain beside a million**: the same for some seconds, with a million that are over and a million
  that wait, copied in SQL from the peer's own. Peers that keep no job that is over have none.
- **pick-up**: an idle worker; from the call of enqueue to the first line of the function.
- **stop**: from the call to the end of the code: a coroutine that sleeps, a function that sleeps, a
  function that computes.
- **memory**: of all processes of one worker, shared pages divided among those who share them.
- **recovery**: a worker is killed with all its processes, another one is there; until the job runs
  again, with settings as they come.

## Settings

{settings}

## Drawn

{pictures}
"""
