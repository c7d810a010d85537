"""A connection that one side of a worker has to itself.

It is either in a known state or closed: a call that is given up in the middle takes its connection
with it, at once and without asking the server, which may not be there to answer. A peer that went
away without a word is noticed by TCP itself, well within a lease.
"""

import asyncio
import os
import socket
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection, waiting
from psycopg.abc import Buffer, PQGen
from psycopg.adapt import Loader

from tenure.config import Settings
from tenure.store.connection import connect_error, parse_url
from tenure.store.transport import connect_options, connect_timeout, raise_lost_cancel

R = TypeVar("R")

_NOTICED_WITHIN = 10.0  # seconds, at most
_WAKE_EVERY = 60.0  # seconds; nothing but input ends a wait


class DedicatedConnection(AsyncConnection[tuple[Any, ...]]):
    async def wait(self, gen: PQGen[R], *_: Any, **__: Any) -> R:
        try:
            with raise_lost_cancel():
                return await waiting.wait_async(gen, self.pgconn.socket, interval=_WAKE_EVERY)
        except asyncio.CancelledError:
            # Not the driver's way, which asks the server to cancel and waits for its answer.
            self.pgconn.finish()
            raise

    def cut(self) -> None:
        """End what is being waited for; whoever waits finds the connection lost."""
        if not self.closed:
            with suppress(OSError), socket.socket(fileno=os.dup(self.pgconn.socket)) as end:
                end.shutdown(socket.SHUT_RDWR)


async def connect_dedicated(url: str, settings: Settings | None, name: str) -> DedicatedConnection:
    """Connect in autocommit. What the URL says for itself is left as it is."""
    settings = settings or Settings()
    said = parse_url(url)
    ours: dict[str, Any] = {"application_name": name, **_alive(settings)}
    connection: DedicatedConnection | None = None
    try:
        with raise_lost_cancel():
            connection = await DedicatedConnection.connect(
                url,
                **connect_options(connect_timeout(settings)),
                **{option: value for option, value in ours.items() if option not in said},
            )
    except (psycopg.Error, ValueError) as error:
        raise connect_error(error) from error
    except asyncio.CancelledError:
        if connection is not None:
            connection.pgconn.finish()
        raise
    connection.adapters.register_loader("text", _Bytes)
    return connection


class _Bytes(Loader):
    """Answers as they come: they are JSON, and whoever decodes it wants bytes."""

    def load(self, data: Buffer) -> bytes:
        return bytes(data)


def _alive(settings: Settings) -> dict[str, int]:
    """Notice a peer that is gone, while we wait for it and while we do not; only TCP needs it."""
    within = min(settings.lease.total_seconds() / 3, _NOTICED_WITHIN)
    return {
        "keepalives": 1,
        "keepalives_idle": max(1, round(within / 2)),
        "keepalives_interval": max(1, round(within / 6)),
        "keepalives_count": 3,
        "tcp_user_timeout": max(1000, round(within * 1000)),
    }
