"""The database under test: one for all examples, emptied between them."""

from dataclasses import dataclass
from datetime import timedelta

import psycopg

from tenure.store.store import Store
from tenure.testing import Clock
from tests.factories import set_back
from tests.model.snapshot import Snapshot, look

# All but what migrations wrote. TRUNCATE takes 130 ms for all tables, as it makes new files, so it
# is for those where a row's place in the file decides an order.
_EMPTY = b"""
TRUNCATE tenure.job, tenure.wake, tenure.edge;
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT format('tenure.%I', t.tablename) FROM pg_tables AS t
        WHERE t.schemaname = 'tenure'
          AND t.tablename NOT IN ('migration', 'verbs', 'tenant', 'strategy')
    LOOP
        EXECUTE format('DELETE FROM %s', name);
    END LOOP;
    PERFORM setval(format('tenure.%I', s.sequencename)::regclass, 1, false)
    FROM pg_sequences AS s WHERE s.schemaname = 'tenure';
    UPDATE tenure_test.clock SET shift = '0';
END $$
"""


@dataclass(frozen=True)
class World:
    store: Store
    sql: psycopg.Connection  # of the owner
    clock: Clock

    @classmethod
    def of(cls, store: Store, sql: psycopg.Connection) -> "World":
        # A verb that runs for ever is a violation, not a hanging test.
        row = sql.execute("SELECT current_database()").fetchone()
        assert row is not None
        sql.execute(f"ALTER DATABASE {row[0]} SET statement_timeout = '10s'".encode())
        sql.execute("SET synchronous_commit = off")
        return cls(store, sql, Clock(sql))

    def empty(self) -> None:
        self.sql.execute(_EMPTY)

    def look(self) -> Snapshot:
        return look(self.sql)

    def advance(self, by: timedelta) -> None:
        self.clock.advance(by)

    def set_back(self, by: timedelta) -> None:
        set_back(self.sql, by)
