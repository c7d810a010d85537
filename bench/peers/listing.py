"""The peers: where each comes from, how it is set up, and what it cannot do.

The settings are those that its documentation advises for many short jobs, where it advises any.
"""

from dataclasses import dataclass
from enum import StrEnum


class Server(StrEnum):
    POSTGRESQL = "PostgreSQL"
    REDIS = "Redis"


class Kind(StrEnum):
    """Of code that is to be stopped; the jobs of ``programs.jobs`` with these names."""

    WAIT = "wait"
    BLOCK = "block"
    COMPUTE = "compute"


@dataclass(frozen=True)
class Peer:
    program: str
    title: str
    packages: tuple[str, ...] = ()  # from PyPI, or from npm; none for Tenure itself
    server: Server = Server.POSTGRESQL
    runs_on: str = "python"  # or "python3.12", or "node"
    concurrency: int = 100
    jobs: int = 4_000  # in one round of a drain: some seconds
    settings: str = "as they come"
    stops: frozenset[Kind] = frozenset(Kind)  # that it claims to stop
    naps: bool = True  # whether 1,000 jobs can sleep in one worker
    isolation: str = ""  # of a plain function: "process", "thread"; empty if it is not measured
    functions: int = 3_000  # in one round of a drain of plain functions


_COROUTINES = frozenset({Kind.WAIT})
_FUNCTIONS = frozenset({Kind.BLOCK, Kind.COMPUTE})
_NOTHING: frozenset[Kind] = frozenset()
_PSYCOPG = "psycopg[binary,pool]"

PEERS = (
    Peer(
        "tenure",
        "Tenure",
        concurrency=1_000,
        jobs=120_000,
        settings="functions in 2 processes",
        isolation="process",
        functions=60_000,
    ),
    Peer(
        "graphile",
        "Graphile Worker",
        ("graphile-worker", "pg"),
        runs_on="node",
        jobs=120_000,
        settings="localQueue of 500, completeJobBatchDelay 0",
        stops=_NOTHING,
    ),
    Peer(
        "pgboss",
        "pg-boss",
        ("pg-boss", "pg"),
        runs_on="node",
        concurrency=5_000,
        jobs=80_000,
        # It fetches a batch at every poll, and polls no more often: the batch bounds the rate.
        settings="batchSize 5,000, 4 fetchers, poll of 0.5 s",
        stops=_NOTHING,
    ),
    Peer(
        "pgqueuer",
        "PgQueuer",
        ("pgqueuer[asyncpg]",),
        jobs=30_000,
        settings="batch_size 100",
        stops=_COROUTINES,
        isolation="thread",
    ),
    Peer(
        "awa",
        "Awa",
        ("awa-pg", _PSYCOPG),
        concurrency=500,
        jobs=15_000,
        settings="queue storage, poll of 20 ms; the job asks every 10 ms whether it is to stop",
        stops=_COROUTINES,
    ),
    Peer(
        "chancy",
        "Chancy",
        ("chancy", _PSYCOPG),
        jobs=10_000,
        settings="eager polling, outgoing every 50 ms, functions in 2 processes",
    ),
    Peer(
        "oban",
        "Oban for Python",
        ("oban", _PSYCOPG),
        runs_on="python3.12",
        jobs=8_000,
        settings="as they come; the job asks every 10 ms whether it is to stop",
        stops=_COROUTINES,
    ),
    Peer(
        "procrastinate",
        "Procrastinate",
        ("procrastinate", _PSYCOPG),
        jobs=2_000,
        settings="pool of 20",
        stops=_COROUTINES,
        isolation="thread",
    ),
    Peer(
        "dbos",
        "DBOS",
        ("dbos", _PSYCOPG),
        jobs=1_500,
        settings="poll of 10 ms; stops at the next step, and this code has none",
        stops=_NOTHING,
    ),
    Peer(
        "saq",
        "SAQ (PostgreSQL)",
        ("saq[postgres,redis]",),
        jobs=2_500,
        settings="pool of 10",
        stops=_COROUTINES,
    ),
    Peer(
        "saq",
        "SAQ (Redis)",
        ("saq[postgres,redis]",),
        server=Server.REDIS,
        jobs=4_000,
        stops=_COROUTINES,
    ),
    Peer(
        "arq",
        "arq",
        ("arq",),
        server=Server.REDIS,
        jobs=4_000,
        settings="poll_delay 10 ms, allow_abort_jobs",
        stops=_COROUTINES,
    ),
    Peer(
        "dramatiq",
        "Dramatiq",
        ("dramatiq[redis]",),
        server=Server.REDIS,
        concurrency=8,
        jobs=6_000,
        settings="1 process, 8 threads",
        stops=_NOTHING,
        isolation="thread",
        functions=6_000,
        naps=False,
    ),
    Peer(
        "celery",
        "Celery",
        ("celery[redis]",),
        server=Server.REDIS,
        concurrency=2,
        jobs=3_000,
        settings="2 processes, prefetch 64, no results",
        stops=_FUNCTIONS,
        isolation="process",
        naps=False,
    ),
    Peer(
        "rq",
        "RQ",
        ("rq",),
        server=Server.REDIS,
        concurrency=1,
        jobs=200,
        settings="results are not kept",
        stops=_FUNCTIONS,
        isolation="process",
        functions=200,
        naps=False,
    ),
)


def chosen(names: list[str] | None) -> tuple[Peer, ...]:
    """All, or those with these names; Tenure always, to be beside them."""
    known = {peer.program for peer in PEERS}
    for name in names or ():
        if name not in known:
            raise SystemExit(f"there is no peer {name!r}; there are {', '.join(sorted(known))}")
    return tuple(peer for peer in PEERS if not names or peer.program in {"tenure", *names})
