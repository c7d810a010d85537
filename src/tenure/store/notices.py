"""Notices: hearing at once that something has happened.

A notice is a hint and never the truth; whoever hears nothing still polls. But a listener that has
fallen deaf unnoticed costs a poll's time for every stop and every job, so each connection must
prove that it hears: when it is new by a notice from another one, because a pooler that shares
connections passes on only what comes with an answer, and then again and again by one to itself.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from uuid import uuid4

import psycopg
from psycopg import sql

from tenure.config import Settings
from tenure.errors import StoreUnavailable
from tenure.store.dedicated_connection import DedicatedConnection, connect_dedicated
from tenure.store.driver_errors import as_tenure_error

_PROOF = "proof "  # and something that only this listener knows


class Notices:
    """Calls ``on_notice`` for every notice on a channel, with what it is about.

    Once after every new connection it is called with nothing: whatever was said before is lost.

    >>> async with asyncio.TaskGroup() as services:
    ...     services.create_task(notices.listen())
    """

    def __init__(
        self,
        url: str,
        channel: str,
        on_notice: Callable[[str], object],
        settings: Settings | None = None,
        *,
        prove_every: float = 30.0,
        prove_within: float = 5.0,
    ) -> None:
        self._url = url
        self._channel = channel
        self._on_notice = on_notice
        self._settings = settings
        self._prove_every = prove_every
        self._prove_within = prove_within
        self._proven = ""  # the last proof that came back
        self.live = False
        self.trouble: Exception | None = None  # why the last connection was given up

    async def listen(self) -> None:
        """Until cancelled; a database that is away is waited for."""
        pauses = _pauses()
        while True:
            try:
                await self._listen_once()
            except (psycopg.Error, OSError, StoreUnavailable) as error:
                self.trouble = as_tenure_error(error) if isinstance(error, psycopg.Error) else error
                if self.live:
                    pauses = _pauses()
            finally:
                self.live = False
            await asyncio.sleep(next(pauses))

    async def _listen_once(self) -> None:
        connection = await self._connect()
        try:
            connection.add_notify_handler(lambda notice: self._hear(notice.payload))
            async with _patience(self._prove_within):
                await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
            async with await self._connect() as other:
                await self._prove(connection, other)
            self.live, self.trouble = True, None
            self._on_notice("")
            while True:
                if not await self._input(connection, self._prove_every):
                    await self._prove(connection, connection)
        finally:
            await connection.close()

    async def _connect(self) -> DedicatedConnection:
        return await connect_dedicated(self._url, self._settings, "tenure notices")

    async def _prove(self, listener: DedicatedConnection, speaker: DedicatedConnection) -> None:
        """Also what notices a connection of which the other end is gone."""
        proof = f"{_PROOF}{uuid4()}"
        async with _patience(self._prove_within):
            await speaker.execute("SELECT pg_catalog.pg_notify(%s, %s)", (self._channel, proof))
        async with _patience(self._prove_within, "; is there a pooler in transaction mode?"):
            while self._proven != proof:
                await self._input(listener, self._prove_within)

    async def _input(self, connection: DedicatedConnection, seconds: float) -> bool:
        """Wait for something to be said, and hear it; false when nothing was."""
        loop = asyncio.get_running_loop()
        arrived = asyncio.Event()
        socket = connection.pgconn.socket
        loop.add_reader(socket, arrived.set)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await arrived.wait()
        finally:
            loop.remove_reader(socket)
        if not arrived.is_set():
            return False
        connection.pgconn.consume_input()
        while notice := connection.pgconn.notifies():
            self._hear(notice.extra.decode())
        return True

    def _hear(self, payload: str) -> None:
        if payload.startswith(_PROOF):
            self._proven = payload
        else:
            self._on_notice(payload)


@asynccontextmanager
async def _patience(seconds: float, hint: str = "") -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise StoreUnavailable(f"nothing was heard for {seconds:g} s{hint}") from None


def _pauses() -> Iterator[float]:
    """Soon at first, then ever more seldom; never many workers at the same moment."""
    pause = 0.05
    while True:
        yield pause * (0.5 + random.random())  # noqa: S311
        pause = min(pause * 2, 5.0)
