"""Oban for Python."""

import asyncio
from typing import Any

import psycopg
from oban import Cancel, Oban, worker
from oban.schema import install

from bench.peers.programs import jobs
from bench.peers.programs.program import URL, Peer, main

_BATCH = 1_000
_OPEN = "SELECT EXISTS (SELECT FROM oban_jobs WHERE state IN ('available', 'executing'))"


@worker(queue="default")
class Noop:
    async def process(self, job: Any) -> None:
        await jobs.noop(job.args["key"])


@worker(queue="default")
class Enter:
    async def process(self, job: Any) -> None:
        await jobs.enter(job.args["key"])


@worker(queue="default")
class Nap:
    async def process(self, job: Any) -> None:
        await jobs.nap(job.args["key"])


@worker(queue="default")
class Wait:
    async def process(self, job: Any) -> Any:
        stopped = await jobs.wait_asking(job.args["key"], job.cancelled)
        return Cancel("asked to") if stopped else None


WORKERS: dict[str, Any] = {"noop": Noop, "enter": Enter, "nap": Nap, "wait": Wait}


class OfOban(Peer):
    async def prepare(self) -> None:
        pool = await Oban.create_pool(URL)
        await install(pool)
        await pool.close()

    async def open(self) -> None:
        self._pool = await Oban.create_pool(URL, min_size=2, max_size=10)
        self._oban = Oban(pool=self._pool)
        await self._oban.start()
        self._connection = await psycopg.AsyncConnection.connect(URL, autocommit=True)

    async def close(self) -> None:
        await self._connection.close()
        await self._oban.stop()
        await self._pool.close()

    async def enqueue(self, job: str, key: str) -> Any:
        made = await self._oban.enqueue(WORKERS[job].new({"key": key}))
        return made.id

    async def enqueue_many(self, job: str, n: int) -> None:
        for start in range(0, n, _BATCH):
            keys = range(start, min(n, start + _BATCH))
            await self._oban.enqueue_many([WORKERS[job].new({"key": str(key)}) for key in keys])

    async def stop(self, job: Any) -> None:
        await self._oban.cancel_job(job)

    async def is_drained(self) -> bool:
        row = await (await self._connection.execute(_OPEN)).fetchone()
        return row is not None and not row[0]

    async def work(self, concurrency: int) -> None:
        pool = await Oban.create_pool(URL, min_size=2, max_size=10)
        async with Oban(pool=pool, queues={"default": {"limit": concurrency}}):
            await asyncio.Event().wait()


if __name__ == "__main__":
    main(OfOban())
