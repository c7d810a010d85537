"""A task that is cancelled in a call ends, also when the call ends in an error of its own."""

import asyncio
import os
import signal

import psycopg
import pytest

from tenure.store.store import AsyncStore
from tests.conftest import Connect
from tests.control.watched import soon

_BACKEND = b"""
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%show%'
"""


def test_a_cancel_wins_over_the_error_of_a_lost_connection(
    database: str, connect: Connect, sql: psycopg.Connection
) -> None:
    async def story() -> None:
        with connect() as holder, holder.transaction():
            holder.execute("LOCK TABLE tenure.job")
            async with AsyncStore(database) as store:
                call = asyncio.ensure_future(store.show(1))
                await soon(lambda: sql.execute(_BACKEND).fetchone(), "a call that waits")
                (backend,) = next(sql.execute(_BACKEND))
                os.kill(backend, signal.SIGSTOP)
                try:
                    call.cancel()
                    await asyncio.sleep(0)  # the driver asks the server to cancel, and waits
                    sql.execute("SELECT pg_terminate_backend(%s)", (backend,))
                finally:
                    os.kill(backend, signal.SIGCONT)
                with pytest.raises(asyncio.CancelledError) as caught:
                    await asyncio.wait_for(call, 10)
                assert isinstance(caught.value.__cause__, psycopg.errors.AdminShutdown)

    asyncio.run(story())
