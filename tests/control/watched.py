"""Helpers of the tests of subscriptions."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeVar

import psycopg

from tenure.auth import AuthorizedClient, Principal, Role
from tenure.config import Settings
from tenure.control.client import Client
from tenure.domain.job import Job
from tenure.stops import Subscription
from tests.waiting import soon

T = TypeVar("T")

ADA = Principal("ada", Role.VIEWER)


@asynccontextmanager
async def watched(url: str) -> AsyncIterator[tuple[Subscription, AuthorizedClient]]:
    async with Client(url, settings=Settings()) as client, Subscription(client) as watching:
        yield watching, client.acting_as(ADA)


def run(story: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(30):
            return await story

    return asyncio.run(bounded())


def cuttable(url: str) -> str:
    """The same database; all connections to it can be cut."""
    return f"{url}&application_name=cuttable"


async def cut(sql: psycopg.Connection) -> None:
    """As soon as there are any."""
    ours = "datname = current_database() AND application_name = 'cuttable'"
    ending = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {ours}".encode()
    await soon(lambda: sql.execute(ending).fetchall(), "a connection")


class Reader:
    """Notes all that is seen, in a task of its own."""

    def __init__(self, things: Any, note: Callable[[Any], Any]) -> None:
        self.seen: list[Any] = []
        self._things = things
        self._note = note
        self.task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async with aclosing(self._things) as things:
            async for thing in things:
                self.seen.append(self._note(thing))

    async def has(self, *notes: Any) -> None:
        try:
            await soon(lambda: self.seen == list(notes))
        except AssertionError:
            assert self.seen == list(notes)

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])


def status(job: Job) -> str:
    return str(job.status)


def listeners(sql: psycopg.Connection) -> int:
    row = sql.execute(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'tenure notices'"
    ).fetchone()
    assert row
    return int(row[0])
