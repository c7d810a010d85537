"""The clock of the database, which a test can advance."""

from datetime import datetime, timedelta
from typing import Any

import psycopg

from tenure.domain.duration import Duration, duration

_INSTALL = """
    CREATE SCHEMA tenure_test;
    CREATE TABLE tenure_test.clock (shift interval NOT NULL);
    INSERT INTO tenure_test.clock VALUES ('0');
    CREATE OR REPLACE FUNCTION tenure.now() RETURNS timestamptz LANGUAGE sql VOLATILE
    RETURN clock_timestamp() + (SELECT shift FROM tenure_test.clock)
"""


class Clock:
    """The clock of a database, which a test can advance. Only for throw-away databases."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        if not self._value("SELECT to_regclass('tenure_test.clock') IS NOT NULL"):
            connection.execute(_INSTALL)

    def now(self) -> datetime:
        """Return the time in the database."""
        now: datetime = self._value("SELECT tenure.now()")
        return now

    def advance(self, by: Duration) -> None:
        """Advance the clock: ``advance("3h")``."""
        self._shift(duration(by))

    def advance_to(self, time: datetime) -> None:
        """Advance the clock to this time, unless it is later already."""
        if (ahead := time - self.now()) > timedelta(0):
            self._shift(ahead)

    def _shift(self, by: timedelta) -> None:
        self._connection.execute("UPDATE tenure_test.clock SET shift = shift + %s", (by,))

    def _value(self, query: str) -> Any:
        row = self._connection.execute(query.encode()).fetchone()
        assert row is not None
        return row[0]
