"""A million jobs that are over and a million that wait, made by SQL from some of the peer's own."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import psycopg

SAMPLE = 1_000  # jobs that the peer itself enqueues, and runs

_COLUMNS = """
    SELECT attname FROM pg_attribute
    WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
    ORDER BY attnum
"""


@dataclass(frozen=True)
class Crowd:
    """Where a peer keeps its jobs."""

    table: str
    key: str  # the column that tells them apart
    drawn: str | None = None  # how a new key is made from the number g; none: by its default
    waits: str = "true"  # which of them wait; where it is so of all, none that is over is kept
    also: Mapping[str, str] = field(default_factory=dict)  # what else differs from job to job

    def copy(self, connection: psycopg.Connection, n: int) -> None:
        """So many of those that wait, and as many of those that are over."""
        # Triggers that tell workers of each row are for those who are there to hear it.
        connection.execute("SET session_replication_role = replica")
        for condition in (self.waits, f"NOT ({self.waits})"):
            self._copy(connection, n, condition)
        connection.execute("RESET session_replication_role")

    def _copy(self, connection: psycopg.Connection, n: int, condition: str) -> None:
        names = [str(name) for (name,) in connection.execute(_COLUMNS, (self.table,))]
        if self.drawn is None:
            names.remove(self.key)
        new = {self.key: self.drawn, **self.also}
        chosen = ", ".join(str(new.get(name) or f'"{name}"') for name in names)
        into = ", ".join(f'"{name}"' for name in names)
        sample = f"SELECT *, row_number() OVER () AS place FROM {self.table} WHERE {condition}"  # noqa: S608
        # As many times as it takes; g is another number for each of them.
        numbers = f"SELECT t * {SAMPLE} + s.place AS g FROM generate_series(1, {n // SAMPLE}) AS t"  # noqa: S608
        copying = f"INSERT INTO {self.table} ({into}) SELECT {chosen} FROM ({sample}) AS s"  # noqa: S608
        connection.execute(f"{copying} CROSS JOIN LATERAL ({numbers}) AS n".encode())


CROWDS: Mapping[str, Crowd] = {
    "graphile": Crowd("graphile_worker._private_jobs", "id"),
    "pgboss": Crowd("pgboss.job", "id", "gen_random_uuid()", "state = 'created'"),
    "pgqueuer": Crowd("pgqueuer", "id"),
    "oban": Crowd("oban_jobs", "id", waits="state = 'available'"),
    "chancy": Crowd("chancy_jobs", "id", "gen_random_uuid()", "state = 'pending'"),
    "procrastinate": Crowd("procrastinate_jobs", "id", waits="status = 'todo'"),
    "dbos": Crowd(
        "dbos.workflow_status", "workflow_uuid", "status || g", waits="status = 'ENQUEUED'"
    ),
    "saq": Crowd(
        "saq_jobs",
        "key",
        "status || g",
        waits="status = 'queued'",
        also={
            "job": "convert_to(replace(convert_from(job, 'UTF8'), key, status || g), 'UTF8')",
        },
    ),
}
