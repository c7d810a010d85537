"""Notices: heard at once, and never deaf without being noticed."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tenure.config import Settings
from tenure.domain.lifecycle import Intent
from tenure.store.notices import Notices
from tenure.store.store import Store
from tests.factories import make_job, make_worker
from tests.system.test_pgbouncer import PGBOUNCER, pooled
from tests.waiting import soon

__all__ = ["pooled"]

IMPATIENT = Settings(connect_timeout=timedelta(seconds=2))


class Ear:
    """A listener and what it heard."""

    def __init__(self, url: str, channel: str | None = None) -> None:
        self.channel = channel or f"tenure_{uuid4()}"
        self.heard = 0
        self.notices = Notices(
            url, self.channel, self._hear, IMPATIENT, prove_every=0.2, prove_within=0.5
        )

    def _hear(self, _about: str) -> None:
        self.heard += 1

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["Ear"]:
        task = asyncio.create_task(self.notices.listen())
        try:
            yield self
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def with_ear(ear: Ear, act: Callable[[Ear], Awaitable[None]]) -> None:
    async def run() -> None:
        async with ear.listening():
            await act(ear)

    asyncio.run(run())


def listeners(sql: psycopg.Connection) -> list[int]:
    rows = sql.execute(
        "SELECT pid FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'tenure notices'"
    )
    return [pid for (pid,) in rows]


def test_a_stop_is_heard_by_the_worker_that_runs_the_job(database: str, store: Store) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()

    async def act(ear: Ear) -> None:
        await soon(lambda: ear.notices.live)
        before = ear.heard
        store.stop(job.id, intent=Intent.PAUSE)
        await soon(lambda: ear.heard > before)

    with_ear(Ear(database, f"tenure_{worker.id}"), act)


def test_every_new_connection_counts_as_a_notice(database: str, sql: psycopg.Connection) -> None:
    async def act(ear: Ear) -> None:
        await soon(lambda: ear.notices.live)
        assert ear.heard == 1
        for times in (2, 3):
            await soon(lambda: len(listeners(sql)) == 1)
            sql.execute("SELECT pg_terminate_backend(%s, 5000)", (listeners(sql)[0],))
            await soon(lambda: ear.notices.live and ear.heard >= times)  # noqa: B023
            assert ear.heard == times
        assert ear.notices.trouble is None

    with_ear(Ear(database), act)


def test_proofs_are_not_notices_and_keep_one_connection(
    database: str, sql: psycopg.Connection
) -> None:
    async def act(ear: Ear) -> None:
        await soon(lambda: ear.notices.live)
        await soon(lambda: len(listeners(sql)) == 1)
        (backend,) = listeners(sql)
        proofs = "SELECT pid FROM pg_stat_activity WHERE pid = %s AND query LIKE '%%pg_notify%%'"
        await soon(lambda: sql.execute(proofs, (backend,)).fetchone())
        await asyncio.sleep(0.5)  # time for two more
        assert (ear.heard, ear.notices.live, listeners(sql)) == (1, True, [backend])

    with_ear(Ear(database), act)


def test_a_database_that_is_away_is_waited_for(tmp_path: Path) -> None:
    async def act(ear: Ear) -> None:
        await soon(lambda: ear.notices.trouble)
        assert not ear.notices.live
        assert "cannot be reached" in str(ear.notices.trouble)
        assert ear.heard == 0

    with_ear(Ear(f"postgresql:///none?host={tmp_path}"), act)


class Wire:
    """Between a listener and the server; it can fall silent without closing anything."""

    def __init__(self, folder: Path, url: str) -> None:
        host = str(conninfo_to_dict(url)["host"])
        self.url = url.replace(host, str(folder))
        self.silent = False
        self._server = f"{host}/.s.PGSQL.5432"
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(folder / ".s.PGSQL.5432"))
        self._door.listen()
        self._sockets = [self._door]
        self._threads = [threading.Thread(target=self._welcome)]
        self._threads[0].start()

    def _welcome(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._door.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                self._sockets += [client, server]
                dead = threading.Event()
                for way in ((client, server), (server, client)):
                    thread = threading.Thread(target=self._carry, args=(*way, dead))
                    self._threads.append(thread)
                    thread.start()

    def _carry(self, source: socket.socket, sink: socket.socket, dead: threading.Event) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if self.silent:
                    dead.set()  # this connection never speaks again
                if not dead.is_set():
                    sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(20)
        for each in self._sockets:
            each.close()


@pytest.fixture
def wire(tmp_path: Path, database: str) -> Iterator[Wire]:
    wire = Wire(tmp_path, database)
    yield wire
    wire.close()


def test_a_connection_that_has_gone_silent_is_given_up(wire: Wire) -> None:
    async def act(ear: Ear) -> None:
        await soon(lambda: ear.notices.live)
        wire.silent = True
        await soon(lambda: not ear.notices.live)
        assert "no notification arrived" in str(ear.notices.trouble)
        wire.silent = False
        await soon(lambda: ear.notices.live and ear.heard == 2)

    with_ear(Ear(wire.url), act)


@pytest.mark.skipif(PGBOUNCER is None, reason="there is no pgbouncer here")
def test_missing_notifications_behind_a_transaction_pooler_are_reported(pooled: str) -> None:
    async def act(ear: Ear) -> None:
        await soon(lambda: "pooler" in str(ear.notices.trouble))
        assert (ear.notices.live, ear.heard) == (False, 0)

    with_ear(Ear(pooled), act)
