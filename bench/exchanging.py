"""Claim and finish in batches: beside the bare loop, over a minute, under an old snapshot."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter

import psycopg

from bench.figures import Figure, console, figure
from bench.filling import arguments, enqueue
from bench.loops import BATCH, BareLoop, StoreLoop, VerbLoop, drain
from bench.server import Server, settle
from tenure.store.store import Store


def exchange(server: Server) -> Iterator[Figure]:
    """Bare table, verbs and store take turns, each round on fresh tables."""
    bare: list[float] = []
    verbs: list[float] = []
    store: list[float] = []
    for number in range(server.sizes.rounds):
        console.print(f"claim and finish, round {number + 1} of {server.sizes.rounds}")
        bare.append(_bare_round(server))
        verbs.append(_verb_round(server))
        store.append(_store_round(server))
    reference = figure("bare loop: two statements on a bare table", bare, "jobs/s")
    ours = figure(
        "claim and finish: the verbs on one connection",
        verbs,
        "jobs/s",
        against=reference,
        at_least=0.55,
    )
    yield reference
    yield ours
    yield figure("claim and finish: through the store", store, "jobs/s", against=ours)


def sustain(server: Server) -> Iterator[Figure]:
    """Three minutes and a million jobs; then the same time beside an old snapshot."""
    sizes = server.sizes
    console.print(f"{sizes.sustained_seconds:.0f} s and {sizes.million:,} jobs")
    free = long_run(server, sizes.sustained_seconds, sizes.million, pinned=False)
    console.print("the same time with an old snapshot pinned")
    pinned = long_run(server, free.seconds, 0, pinned=True)

    span = f"{sizes.window:g} s"
    first = figure(f"sustained: first {span}", free.first, "jobs/s")
    last = figure(f"sustained: last {span}", free.last, "jobs/s", against=first, at_least=0.85)
    mean = figure("sustained: mean", free.mean, "jobs/s")
    yield from (first, last, mean)
    yield figure("sustained: jobs", free.done, "jobs")
    yield figure(f"old snapshot: last {span}", pinned.last, "jobs/s", against=last, at_least=0.75)
    yield figure("old snapshot: mean", pinned.mean, "jobs/s", against=mean, at_least=0.75)


@dataclass
class Run:
    """A long run; its seconds leave out the time of topping up."""

    window: float
    done: int = 0
    seconds: float = 0.0
    marks: list[tuple[float, int]] = field(default_factory=lambda: [(0.0, 0)])

    def add(self, jobs: int, seconds: float) -> None:
        self.done += jobs
        self.seconds += seconds
        self.marks.append((self.seconds, self.done))

    @property
    def mean(self) -> float:
        return self.done / self.seconds

    @property
    def first(self) -> float:
        second, done = next(mark for mark in self.marks if mark[0] >= self.window)
        return done / second

    @property
    def last(self) -> float:
        since = self.seconds - self.window
        second, done = next(mark for mark in self.marks if mark[0] >= since)
        return (self.done - done) / (self.seconds - second)


def long_run(server: Server, seconds: float, jobs: int, *, pinned: bool) -> Run:
    """For so long, and for so many jobs; beside a snapshot that was taken before it, or not."""
    with (
        server.database(server.with_a_million) as url,
        psycopg.connect(url) as old,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        settle(connection)
        if pinned:
            old.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            old.execute("SELECT FROM tenure.job LIMIT 1")
        loop = VerbLoop(connection)
        run = Run(server.sizes.window)
        left = server.sizes.million
        while run.seconds < seconds or run.done < jobs:
            if left < BATCH:
                enqueue(connection, server.sizes.top_up)
                left += server.sizes.top_up
            start = perf_counter()
            taken = loop.step()
            run.add(taken, perf_counter() - start)
            left -= taken
        old.rollback()
    return run


def _bare_round(server: Server) -> float:
    with psycopg.connect(server.url, autocommit=True) as connection:
        BareLoop.create_table(connection)
        copy(connection, arguments(server.sizes.exchanged))
        settle(connection)
        return drain(BareLoop(connection))


def _verb_round(server: Server) -> float:
    with server.database() as url, psycopg.connect(url, autocommit=True) as connection:
        enqueue(connection, server.sizes.exchanged)
        settle(connection)
        return drain(VerbLoop(connection))


def _store_round(server: Server) -> float:
    with (
        server.database() as url,
        Store(url) as store,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        enqueue(connection, server.sizes.exchanged)
        settle(connection)
        return drain(StoreLoop(store))


def copy(connection: psycopg.Connection, texts: list[str]) -> None:
    """Fill the bare table the fastest way there is."""
    with connection.cursor().copy("COPY bare (args) FROM STDIN") as stream:
        for text in texts:
            stream.write_row((text,))
