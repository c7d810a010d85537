"""A connection that one part of a worker uses alone.

It is either in a known state or closed: cancelling a call closes its connection at once, without
asking the server, which may not answer. TCP itself detects a peer that disappeared, well within a
lease.
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

_MAX_DETECTION = 10.0  # seconds until a lost peer is detected
_WAKE_EVERY = 60.0  # seconds; otherwise only input ends a wait


class DedicatedConnection(AsyncConnection[tuple[Any, ...]]):
    async def wait(self, gen: PQGen[R], *_: Any, **__: Any) -> R:
        try:
            with raise_lost_cancel():
                return await waiting.wait_async(gen, self.pgconn.socket, interval=_WAKE_EVERY)
        except asyncio.CancelledError:
            # The driver would ask the server to cancel, and wait for its answer.
            self.pgconn.finish()
            raise

    def cut(self) -> None:
        """Shut the socket down; a call in flight fails as if the connection were lost."""
        if not self.closed:
            with suppress(OSError), socket.socket(fileno=os.dup(self.pgconn.socket)) as end:
                end.shutdown(socket.SHUT_RDWR)


async def connect_dedicated(url: str, settings: Settings | None, name: str) -> DedicatedConnection:
    """Connect in autocommit; options in the URL take precedence."""
    settings = settings or Settings()
    in_url = parse_url(url)
    ours: dict[str, Any] = {"application_name": name, **_keepalives(settings)}
    connection: DedicatedConnection | None = None
    try:
        with raise_lost_cancel():
            connection = await DedicatedConnection.connect(
                url,
                **connect_options(connect_timeout(settings)),
                **{option: value for option, value in ours.items() if option not in in_url},
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
    """Load text as bytes: answers are JSON, and the decoder takes bytes."""

    def load(self, data: Buffer) -> bytes:
        return bytes(data)


def _keepalives(settings: Settings) -> dict[str, int]:
    """Return the TCP options that detect a lost peer, during a call and while idle."""
    within = min(settings.lease.total_seconds() / 3, _MAX_DETECTION)
    return {
        "keepalives": 1,
        "keepalives_idle": max(1, round(within / 2)),
        "keepalives_interval": max(1, round(within / 6)),
        "keepalives_count": 3,
        "tcp_user_timeout": max(1000, round(within * 1000)),
    }
