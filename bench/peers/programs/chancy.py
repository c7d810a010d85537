"""Chancy: coroutines in an event loop, plain functions in processes."""

import logging
from typing import Any

import psycopg
from chancy import Chancy, Queue, Worker

from bench.peers.programs import chancy_jobs
from bench.peers.programs.program import URL, Peer, main

_BATCH = 1_000
_OPEN = """
    SELECT EXISTS (SELECT FROM chancy_jobs WHERE state NOT IN ('succeeded', 'failed', 'expired'))
"""
_log = logging.getLogger("quiet")
_log.setLevel(logging.ERROR)


def _chancy() -> Chancy:
    return Chancy(URL, log=_log, max_connection_pool_size=10)


class OfChancy(Peer):
    async def prepare(self) -> None:
        async with _chancy() as chancy:
            await chancy.migrate()

    async def open(self) -> None:
        self._chancy = _chancy()
        await self._chancy.__aenter__()
        self._connection = await psycopg.AsyncConnection.connect(URL, autocommit=True)

    async def close(self) -> None:
        await self._connection.close()
        await self._chancy.__aexit__(None, None, None)

    async def enqueue(self, job: str, key: str) -> Any:
        return await self._chancy.push(_job(job, key))

    async def enqueue_many(self, job: str, n: int) -> None:
        made = (_job(job, str(number)) for number in range(n))
        async for _ in self._chancy.push_many(made, batch_size=_BATCH):
            continue

    async def stop(self, job: Any) -> None:
        await self._chancy.cancel_job(job)

    async def is_drained(self) -> bool:
        row = await (await self._connection.execute(_OPEN)).fetchone()
        return row is not None and not row[0]

    async def work(self, concurrency: int) -> None:
        coroutines = Queue(
            "default",
            concurrency=concurrency,
            executor=Chancy.Executor.Async,
            polling_interval=1,
            eager_polling=True,
        )
        functions = Queue(
            "plain", concurrency=2, executor=Chancy.Executor.Process, polling_interval=1
        )
        async with _chancy() as chancy:
            await chancy.declare(coroutines, upsert=True)
            await chancy.declare(functions, upsert=True)
            async with Worker(chancy) as worker:
                worker.send_outgoing_interval = 0.05
                await worker.wait_for_shutdown()


def _job(name: str, key: str) -> Any:
    return getattr(chancy_jobs, name).job.with_kwargs(key=key)


if __name__ == "__main__":
    main(OfChancy())
