"""Listen to notifications of the database.

A notification is only a hint: workers also poll. But a listener that no longer receives anything
delays every stop and every job by a poll interval, so each connection must prove that it receives:
when new, by a notification from another connection, because a pooler in transaction mode delivers
notifications only together with answers; later, at intervals, by a notification to itself.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import KW_ONLY, dataclass
from uuid import uuid4

import psycopg
from psycopg import sql

from tenure.config import Settings
from tenure.errors import StoreUnavailable
from tenure.store.dedicated_connection import DedicatedConnection, connect_dedicated
from tenure.store.driver_errors import as_tenure_error

_PROOF = "proof "  # followed by a random id


@dataclass(eq=False)
class Notices:
    """Call ``on_notice`` with the payload of every notification on a channel.

    After every new connection it is called with an empty payload, because notifications may have
    been missed.

    >>> async with asyncio.TaskGroup() as services:
    ...     services.create_task(notices.listen())
    """

    url: str
    channel: str
    on_notice: Callable[[str], object]
    settings: Settings | None = None
    _: KW_ONLY
    prove_every: float = 30.0
    prove_within: float = 5.0

    def __post_init__(self) -> None:
        self._proven = ""  # the last proof that came back
        self.live = False
        self.trouble: Exception | None = None  # why the last connection was closed

    async def listen(self) -> None:
        """Listen until cancelled; reconnect while the database is unavailable."""
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
            connection.add_notify_handler(lambda notice: self._receive(notice.payload))
            async with _deadline(self.prove_within):
                await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self.channel)))
            async with await self._connect() as other:
                await self._prove(connection, other)
            self.live, self.trouble = True, None
            self.on_notice("")
            while True:
                if not await self._input(connection, self.prove_every):
                    await self._prove(connection, connection)
        finally:
            await connection.close()

    async def _connect(self) -> DedicatedConnection:
        return await connect_dedicated(self.url, self.settings, "tenure notices")

    async def _prove(self, listener: DedicatedConnection, speaker: DedicatedConnection) -> None:
        """Send a proof and wait for it; this also detects a peer that is gone."""
        proof = f"{_PROOF}{uuid4()}"
        async with _deadline(self.prove_within):
            await speaker.execute("SELECT pg_catalog.pg_notify(%s, %s)", (self.channel, proof))
        async with _deadline(self.prove_within, "; is there a pooler in transaction mode?"):
            while self._proven != proof:
                await self._input(listener, self.prove_within)

    async def _input(self, connection: DedicatedConnection, seconds: float) -> bool:
        """Wait for notifications and pass them on; return false after a timeout."""
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
            self._receive(notice.extra.decode())
        return True

    def _receive(self, payload: str) -> None:
        if payload.startswith(_PROOF):
            self._proven = payload
        else:
            self.on_notice(payload)


@asynccontextmanager
async def _deadline(seconds: float, hint: str = "") -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise StoreUnavailable(f"no notification arrived within {seconds:g} s{hint}") from None


def _pauses() -> Iterator[float]:
    """Yield increasing delays, randomized so that workers do not reconnect at the same time."""
    pause = 0.05
    while True:
        yield pause * (0.5 + random.random())  # noqa: S311
        pause = min(pause * 2, 5.0)
