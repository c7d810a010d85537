"""For tests of programs that use Tenure."""

from datetime import timedelta

import psycopg


class Clock:
    """The clock of the database, which a test can advance. Only for throw-away databases."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        connection.execute("CREATE SCHEMA IF NOT EXISTS tenure_test")
        connection.execute("CREATE TABLE IF NOT EXISTS tenure_test.clock (shift interval NOT NULL)")
        connection.execute("TRUNCATE tenure_test.clock")
        connection.execute("INSERT INTO tenure_test.clock VALUES ('0')")
        connection.execute("""
            CREATE OR REPLACE FUNCTION tenure.now() RETURNS timestamptz LANGUAGE sql VOLATILE
            RETURN clock_timestamp() + (SELECT shift FROM tenure_test.clock)
        """)

    def advance(self, by: timedelta) -> None:
        """Advance the clock."""
        self._connection.execute("UPDATE tenure_test.clock SET shift = shift + %s", (by,))
