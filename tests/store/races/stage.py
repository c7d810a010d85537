"""Sessions that act in a forced order: held open, made to wait, or stopped inside a verb.

Nothing here sleeps for luck. A call that is meant to wait is sent from a thread, and the test goes
on when PostgreSQL says that its backend waits for a lock.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg import sql as composed

from tenure.domain.job import NewJob
from tenure.store.call import Call
from tenure.store.calls import enqueue_calls
from tenure.store.drivers import send_on
from tenure.store.results import Enqueued

T = TypeVar("T")

PATIENCE = timedelta(seconds=10)
_GATE = 4711

_GATES = f"""
CREATE SCHEMA IF NOT EXISTS tenure_test;
CREATE OR REPLACE FUNCTION tenure_test.gate(name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    passes integer := nullif(current_setting('tenure_test.' || name, true), '')::integer;
BEGIN
    IF passes IS NOT NULL THEN
        PERFORM set_config('tenure_test.' || name,
            CASE WHEN passes > 0 THEN (passes - 1)::text ELSE '' END, false);
    END IF;
    IF passes = 0 THEN
        PERFORM pg_advisory_lock_shared({_GATE});
        PERFORM pg_advisory_unlock_shared({_GATE});
    END IF;
END $$;
CREATE OR REPLACE FUNCTION tenure_test.gate_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tenure_test.gate(TG_ARGV[0]);
    RETURN coalesce(new, old);
END $$;
"""


@dataclass(frozen=True)
class Session:
    """One connection; what it does is its own until it commits."""

    connection: psycopg.Connection

    def __call__(self, call: Call[T]) -> T:
        return send_on(self.connection, call)

    def enqueue(self, *jobs: NewJob) -> tuple[Enqueued, ...]:
        return self(enqueue_calls.enqueue(jobs))

    def commit(self) -> None:
        self.connection.commit()

    def rollback(self) -> None:
        self.connection.rollback()

    @property
    def pid(self) -> int:
        return self.connection.info.backend_pid


class Stage:
    """The sessions of one race, and somebody who watches them."""

    def __init__(
        self,
        connect: Callable[[], psycopg.Connection],
        watcher: psycopg.Connection,
        threads: ThreadPoolExecutor,
    ) -> None:
        self._connect = connect
        self._threads = threads
        self._opened: list[psycopg.Connection] = []
        self._undone: list[str] = []
        self.sql = watcher

    def session(self) -> Session:
        connection = self._connect()
        self._opened.append(connection)
        connection.execute("SET statement_timeout = '6s'")
        connection.commit()
        return Session(connection)

    def waits(self, session: Session, call: Call[T]) -> "Future[T]":
        """Send a call that must wait for somebody; back when it does."""
        future = self.sent(session, call)
        assert self.is_waiting(session, future), f"{call.verb} did not wait: {future.result()}"
        return future

    def sent(self, session: Session, call: Call[T]) -> "Future[T]":
        return self._threads.submit(session, call)

    def is_waiting(self, session: Session, future: "Future[Any]") -> bool:
        """Whether the call comes to wait for a lock; false when it is over instead."""
        end = time.monotonic() + PATIENCE.total_seconds()
        while time.monotonic() < end:
            if self.one(
                "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s", session.pid
            ):
                return True
            if future.done():
                return False
        raise AssertionError("the call neither waits nor ends")

    def stop_before(self, function: str, session: Session, passes: int = 0) -> None:
        """Make this session wait before it enters a function; after so many times through it."""
        self._close_gate()
        text = str(self.one("SELECT pg_get_functiondef(%s::regproc)", f"tenure.{function}"))
        gate = f"\nBEGIN\n    PERFORM tenure_test.gate('{function}');\n"
        self.sql.execute(text.replace("\nBEGIN\n", gate, 1).encode())
        self.later(text)
        self._wait_at(function, session, passes)

    def stop_at_row(self, table: str, event: str, session: Session, passes: int = 0) -> None:
        """Make this session wait before it writes a row; after so many rows.

        At an INSERT the row that conflicts is not locked yet, at an UPDATE the row is.
        """
        self._close_gate()
        self.sql.execute(
            f"CREATE TRIGGER gate BEFORE {event} ON tenure.{table} FOR EACH ROW "
            f"EXECUTE FUNCTION tenure_test.gate_row('{table}')".encode()
        )
        self.later(f"DROP TRIGGER gate ON tenure.{table}")
        self._wait_at(table, session, passes)

    def go_on(self) -> None:
        self.sql.execute("SELECT pg_advisory_unlock_all()")

    def later(self, statement: str) -> None:
        """What puts things back when the race is over; the last one first."""
        self._undone.append(statement)

    def clear_up(self) -> None:
        """Close every session and put every verb back as it was."""
        for connection in self._opened:
            connection.close()
        while self._undone:
            self.sql.execute(self._undone.pop().encode())

    def _close_gate(self) -> None:
        self.sql.execute(_GATES.encode())
        self.sql.execute("SELECT pg_advisory_lock(%s)", (_GATE,))

    def _wait_at(self, name: str, session: Session, passes: int) -> None:
        session.connection.execute(
            "SELECT set_config('tenure_test.' || %s, %s, false)", (name, str(passes))
        )
        session.commit()

    def one(self, query: str, *values: Any) -> Any:
        row = self.sql.execute(query.encode(), values).fetchone()
        assert row is not None
        return row[0]

    def states(self, *jobs: int) -> tuple[str, ...]:
        found = self._by_id("SELECT id, state::text FROM tenure.job WHERE id = ANY (%s)", jobs)
        return tuple(found[job] for job in jobs)

    def waiting(self, job: int) -> str | None:
        reason = self.one("SELECT coalesce(waiting::text, '') FROM tenure.job WHERE id = %s", job)
        return str(reason) or None

    def is_ready(self, job: int) -> bool:
        return bool(self.one("SELECT ready FROM tenure.job WHERE id = %s", job))

    def expire(self, worker: UUID) -> None:
        """Its lease is over; nobody has said so yet."""
        self.sql.execute(
            "UPDATE tenure.worker SET expires_at = tenure.now() - interval '1 s' WHERE id = %s",
            (worker,),
        )

    def is_dead(self, worker: UUID) -> bool:
        return bool(self.one("SELECT dead_at IS NOT NULL FROM tenure.worker WHERE id = %s", worker))

    def open_records(self) -> int:
        return int(self.one("SELECT count(*) FROM tenure.cancellation WHERE completed_at IS NULL"))

    def _by_id(self, query: str, jobs: Sequence[int]) -> Mapping[int, str]:
        return dict(self.sql.execute(composed.SQL(query), (list(jobs),)).fetchall())
