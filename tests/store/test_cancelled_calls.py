"""A task that is cancelled in a call ends as cancelled, however the call itself ends."""

import asyncio
import os
import signal

import psycopg
import pytest

from tenure.domain.job import Job
from tenure.domain.tenant import Tenant
from tenure.store import schema
from tenure.store.store import AsyncStore, Store
from tests.conftest import Connect
from tests.factories import make_job
from tests.waiting import soon

_WAITING = b"""
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%show%'
"""
_ACTIVE = b"""
SELECT FROM pg_stat_activity
WHERE datname = current_database() AND state = 'active' AND query LIKE '%show%'
  AND pid <> pg_backend_pid()
"""


def test_a_cancel_wins_over_the_error_of_a_lost_connection(
    database: str, connect: Connect, sql: psycopg.Connection
) -> None:
    async def story() -> None:
        with connect() as holder:
            holder.execute("LOCK TABLE tenure.job")
            async with AsyncStore(database) as store:
                call = asyncio.ensure_future(store.show(1))
                backend = await waiting_backend(sql)
                os.kill(backend, signal.SIGSTOP)
                try:
                    call.cancel()
                    await asyncio.sleep(0)  # the driver asks the server to cancel, and waits
                    sql.execute("SELECT pg_terminate_backend(%s)", (backend,))
                finally:
                    os.kill(backend, signal.SIGCONT)
                with pytest.raises(asyncio.CancelledError) as caught:
                    await asyncio.wait_for(call, 10)
                # From 3.3.9 on the driver itself raises the cancel in the place of its error.
                cause = caught.value.__cause__
                assert cause is None or isinstance(cause, psycopg.errors.AdminShutdown)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("busy", "asker"), [(["default"], "default"), (["default", "acme"], "other")]
)
def test_a_cancel_that_comes_with_a_connection_is_not_lost(
    database: str,
    store: Store,
    connect: Connect,
    sql: psycopg.Connection,
    busy: list[str],
    asker: str,
) -> None:
    """Cancelled once at every turn of the loop around the one in which it gets the connection.

    It waits for a call of its own tenant to end, or for a call of any.
    """
    jobs = {}
    for name in ("default", "acme", "other"):
        schema.migrate(sql, Tenant(name))
        jobs[name] = make_job(store.of(Tenant(name)))

    async def story() -> None:
        async with AsyncStore(database) as store:

            def ask(tenant: str) -> asyncio.Future[Job]:
                return asyncio.ensure_future(store.of(Tenant(tenant)).show(jobs[tenant]))

            for turns in range(20):
                with connect() as holder:
                    holder.execute("LOCK TABLE tenure.job, tenure_acme.job")
                    others = [ask(name) for name in busy * 8]
                    await soon(lambda: len(sql.execute(_WAITING).fetchall()) == 8 * len(busy))
                    call = ask(asker)
                    await soon(lambda: waits_for_a_connection(store))
                while sql.execute(_ACTIVE).fetchone():
                    pass  # their answers come, and the loop does not turn
                for _ in range(turns):
                    await asyncio.sleep(0)
                if call.done():
                    assert turns > 3
                    return
                call.cancel()
                await asyncio.gather(*others, call, return_exceptions=True)
                assert call.cancelled(), f"lost at turn {turns}"

    asyncio.run(story())


def waits_for_a_connection(store: AsyncStore) -> bool:
    shared = store._pool
    in_line = sum(len(place._waiters or ()) for place in shared._slots.values())
    return bool(in_line + len(shared._all_slots._waiters or ()))


async def waiting_backend(sql: psycopg.Connection) -> int:
    await soon(lambda: sql.execute(_WAITING).fetchone(), "a call that waits")
    (backend,) = next(iter(sql.execute(_WAITING)))
    return int(backend)
