"""Awa: a core in Rust, handlers in Python, the storage that it made for pinned snapshots."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import psycopg
from awa import AsyncClient

from bench.peers.programs import jobs
from bench.peers.programs.program import URL, Peer, main

_BATCH = 20_000
# It takes no user in front of an empty host.
_ADDRESS = URL.replace("://postgres@/", ":///") + "&user=postgres"


@dataclass
class Noop:
    key: str


@dataclass
class Enter:
    key: str


@dataclass
class Wait:
    key: str


@dataclass
class Nap:
    key: str


KINDS: dict[str, Any] = {"noop": Noop, "enter": Enter, "wait": Wait, "nap": Nap}


class OfAwa(Peer):
    async def prepare(self) -> None:
        client = AsyncClient(_ADDRESS)
        await client.migrate()
        await client.install_queue_storage()

    async def open(self) -> None:
        self._client = AsyncClient(_ADDRESS)
        self._connection = await psycopg.AsyncConnection.connect(URL, autocommit=True)

    async def close(self) -> None:
        await self._connection.close()

    async def enqueue(self, job: str, key: str) -> Any:
        return await self._client.insert(KINDS[job](key), queue="default")

    async def enqueue_many(self, job: str, n: int) -> None:
        for start in range(0, n, _BATCH):
            keys = range(start, min(n, start + _BATCH))
            made = [KINDS[job](str(key)) for key in keys]
            await self._client.enqueue_many_copy(made, queue="default")

    async def stop(self, job: Any) -> None:
        await self._client.cancel(job.id)

    async def is_drained(self) -> bool:
        return True  # it completes in batches, and its tables are its own: what ran is counted

    async def work(self, concurrency: int) -> None:
        client = AsyncClient(_ADDRESS)
        for name in ("noop", "enter", "nap"):
            _register(client, KINDS[name], getattr(jobs, name))
        _register_waiting(client)
        await client.start([("default", concurrency)], poll_interval_ms=20)
        await asyncio.Event().wait()


def _register(client: AsyncClient, kind: Any, function: Callable[[str], Awaitable[None]]) -> None:
    @client.task(kind, queue="default")
    async def run(job: Any) -> None:
        await function(job.args.key)


def _register_waiting(client: AsyncClient) -> None:
    @client.task(Wait, queue="default")
    async def run(job: Any) -> None:
        await jobs.wait_asking(job.args.key, job.is_cancelled)


if __name__ == "__main__":
    main(OfAwa())
