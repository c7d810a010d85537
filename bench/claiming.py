"""One claim of 100 jobs, whatever else the table holds. Every claim is rolled back, so that all of
them see the same table; only the call itself is on the clock."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from time import perf_counter
from uuid import UUID, uuid4

import msgspec
import psycopg

from bench.figures import Figure, console, figure
from bench.filling import enqueue
from bench.loops import BATCH, CLAIM, LEASE, REGISTER, Claim
from bench.server import Server, settle

FEW = 1_000  # pending jobs that can be claimed, in every shape

_COMPLETED = """
    UPDATE tenure.job SET state = 'completed', ready = false, started_at = created_at,
        ended_at = clock_timestamp(), attempt = 1
"""
_BEHIND_ONE_TARGET = """
    UPDATE tenure.job SET target = 'busy', ready = false, waiting = 'target'
"""
_PAUSED_HEAD = """
    UPDATE tenure.job SET state = 'paused', waiting = NULL, holds = true, blocks = true
    WHERE id = (SELECT min(id) FROM tenure.job)
"""


@dataclass
class Shape:
    connection: psycopg.Connection
    worker: UUID
    floors: str
    without: list[float] = field(default_factory=list)
    with_floors: list[float] = field(default_factory=list)

    def tidy(self) -> None:
        self.connection.execute("VACUUM tenure.job")

    def measure(self) -> None:
        self.without.append(self._claim(None))
        self.with_floors.append(self._claim(self.floors))

    def _claim(self, floors: str | None) -> float:
        self.connection.execute("BEGIN")
        start = perf_counter()
        self.connection.execute(CLAIM, (self.worker, BATCH, floors), prepare=True).fetchone()
        taken = perf_counter() - start
        self.connection.execute("ROLLBACK")
        return taken * 1000


def claim_in_every_shape(server: Server) -> Iterator[Figure]:
    with ExitStack() as stack:
        shapes = {
            "small": _shape(stack, server, "small"),
            f"{server.sizes.million:,} finished": _shape(stack, server, "finished", _finished),
            f"{server.sizes.million:,} pending": _shape(stack, server, "pending"),
            f"{server.sizes.hundred_thousand:,} scheduled": _shape(
                stack, server, "scheduled", _scheduled
            ),
            f"{server.sizes.hundred_thousand:,} behind one target": _shape(
                stack, server, "blocked", _behind_one_target
            ),
        }
        for number in range(server.sizes.rounds):
            console.print(f"claims, round {number + 1} of {server.sizes.rounds}")
            for shape in shapes.values():
                shape.tidy()
            for _ in range(server.sizes.claims):
                for shape in shapes.values():
                    shape.measure()
    for how in ("without", "with"):
        times = {
            name: shape.without if how == "without" else shape.with_floors
            for name, shape in shapes.items()
        }
        small = figure(f"claim of {BATCH} {how} floors: small table", times.pop("small"), "ms")
        yield small
        for name, taken in times.items():
            yield figure(
                f"claim of {BATCH} {how} floors: {name}", taken, "ms", against=small, at_most=1.2
            )


def _shape(
    stack: ExitStack,
    server: Server,
    name: str,
    fill: Callable[[psycopg.Connection, Server], None] | None = None,
) -> Shape:
    console.print(f"filling: {name}")
    template = server.with_a_million if name in ("finished", "pending") else None
    url = stack.enter_context(server.database(template))
    connection = stack.enter_context(psycopg.connect(url, autocommit=True))
    # Nothing but the claims themselves while they are on the clock.
    connection.execute("ALTER TABLE tenure.job SET (autovacuum_enabled = off)")
    if fill:
        fill(connection, server)
    if name != "pending":
        enqueue(connection, FEW)
    settle(connection)
    worker = uuid4()
    connection.execute(REGISTER, (worker, LEASE))
    connection.execute("BEGIN")
    row = connection.execute(CLAIM, (worker, BATCH, None)).fetchone()
    connection.execute("ROLLBACK")
    assert row is not None
    floors = msgspec.json.decode(row[0], type=Claim).floors
    return Shape(connection, worker, bytes(floors).decode())


def _finished(connection: psycopg.Connection, _: Server) -> None:
    connection.execute(_COMPLETED)


def _scheduled(connection: psycopg.Connection, server: Server) -> None:
    enqueue(connection, server.sizes.hundred_thousand, delay="1 day", priority=10)


def _behind_one_target(connection: psycopg.Connection, server: Server) -> None:
    enqueue(connection, server.sizes.hundred_thousand, priority=10)
    connection.execute(_BEHIND_ONE_TARGET)
    connection.execute(_PAUSED_HEAD)
