"""Three ways to claim and finish jobs in batches: on a bare table, by the verbs, by the store."""

from datetime import timedelta
from time import perf_counter
from typing import Any, Protocol
from uuid import uuid4

import msgspec
import psycopg

from tenure.store.floors import Floors
from tenure.store.outcomes import Ending
from tenure.store.store import Store

BATCH = 100
LEASE = timedelta(hours=1)  # nobody beats while the clock runs

_BARE_TABLE = """
    DROP TABLE IF EXISTS bare;
    CREATE TABLE bare (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        queue text NOT NULL DEFAULT 'default',
        state smallint NOT NULL DEFAULT 0,
        priority smallint NOT NULL DEFAULT 0,
        run_at timestamptz NOT NULL DEFAULT now(),
        attempt smallint NOT NULL DEFAULT 0,
        worker uuid,
        args jsonb NOT NULL DEFAULT '{}',
        started_at timestamptz,
        finished_at timestamptz
    ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
    CREATE INDEX bare_ready ON bare (queue, priority, id) WHERE state = 0;
"""
_BARE_CLAIM = """
    UPDATE bare SET state = 1, attempt = attempt + 1, worker = %s, started_at = now()
    FROM (SELECT id FROM bare WHERE state = 0 AND queue = 'default'
          ORDER BY priority, id FOR UPDATE SKIP LOCKED LIMIT %s) AS due
    WHERE bare.id = due.id
    RETURNING bare.id, bare.args, bare.attempt
"""
_BARE_FINISH = """
    UPDATE bare SET state = 2, finished_at = now()
    FROM unnest(%s::bigint[]) AS done(id) WHERE bare.id = done.id
"""

REGISTER = "SELECT tenure.register(%s, 'bench', 1, %s)"
CLAIM = "SELECT tenure.claim(%s, %s, floors => %s::jsonb)::text"
FINISH = "SELECT tenure.finish(%s, %s::jsonb)::text"


class Loop(Protocol):
    def step(self) -> int:
        """Claim a batch and finish it; how many jobs that were."""


class BareLoop:
    """Two statements on a table that can do nothing else."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._worker = uuid4()
        self._cursor = connection.cursor(binary=True)

    @staticmethod
    def create_table(connection: psycopg.Connection) -> None:
        connection.execute(_BARE_TABLE)

    def step(self) -> int:
        claim = self._cursor.execute(_BARE_CLAIM, (self._worker, BATCH), prepare=True)
        ids = [row[0] for row in claim.fetchall()]
        self._cursor.execute(_BARE_FINISH, (ids,), prepare=True)
        return len(ids)


class Claim(msgspec.Struct):
    floors: msgspec.Raw
    token: int = 0
    jobs: dict[str, Any] = {}


class VerbLoop:
    """The verbs as prepared statements on one connection, with the full schema."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._worker = uuid4()
        self._connection = connection
        self._floors = Floors()
        connection.execute(REGISTER, (self._worker, LEASE))

    def step(self) -> int:
        began = perf_counter()
        since = self._floors.at(began)
        claim = _claim(self._ask(CLAIM, (self._worker, BATCH, since)))
        ids = claim.jobs.get("id", [])
        self._floors.reached(bytes(claim.floors).decode(), since, began, perf_counter())
        outcomes = [{"job": job, "token": claim.token, "outcome": "completed"} for job in ids]
        self._ask(FINISH, (self._worker, msgspec.json.encode(outcomes).decode()))
        return len(ids)

    def _ask(self, statement: str, values: tuple[object, ...]) -> str:
        row = self._connection.execute(statement.encode(), values, prepare=True).fetchone()
        assert row is not None
        return str(row[0])


class StoreLoop:
    """The same through the store, with all that Python adds: pool, results, checks."""

    def __init__(self, store: Store) -> None:
        self._worker = uuid4()
        self._store = store
        self._floors = Floors()
        store.register(self._worker, "bench", 1, LEASE)

    def step(self) -> int:
        began = perf_counter()
        since = self._floors.at(began)
        claim = self._store.claim(self._worker, BATCH, floors=since)
        self._floors.reached(claim.floors, since, began, perf_counter())
        endings = [Ending(job=job.id, token=job.token, outcome="completed") for job in claim.jobs]
        self._store.finish(self._worker, endings)
        return len(claim.jobs)


def drain(loop: Loop) -> float:
    """Take all there is; jobs per second."""
    done, start = 0, perf_counter()
    while taken := loop.step():
        done += taken
    return done / (perf_counter() - start)


_claim = msgspec.json.Decoder(Claim).decode
