"""SAQ, on Redis or on PostgreSQL: as the address says."""

import asyncio
from collections.abc import Callable
from typing import Any

from psycopg_pool import AsyncConnectionPool
from saq import Job, Queue, Worker
from saq.queue.postgres import PostgresQueue

from bench.peers.programs import jobs
from bench.peers.programs.program import URL, Peer, main

_TOGETHER = 500
_CONNECTIONS = 10


def _queue() -> Any:
    if URL.startswith("redis"):
        return Queue.from_url(URL)
    pool = AsyncConnectionPool(
        URL,
        min_size=_CONNECTIONS,
        max_size=_CONNECTIONS,
        open=False,
        kwargs={"autocommit": True},
    )
    return PostgresQueue(pool=pool, manage_pool_lifecycle=True)


class OfSAQ(Peer):
    async def prepare(self) -> None:
        await self.open()
        await self.close()

    async def open(self) -> None:
        self._queue = _queue()
        await self._queue.connect()

    async def close(self) -> None:
        await self._queue.disconnect()

    async def enqueue(self, job: str, key: str) -> Any:
        return await self._queue.enqueue(Job(function=job, kwargs={"key": key}, timeout=0))

    async def enqueue_many(self, job: str, n: int) -> None:
        """There is no call for many: so many single ones at once."""
        for start in range(0, n, _TOGETHER):
            keys = range(start, min(n, start + _TOGETHER))
            await asyncio.gather(*(self.enqueue(job, str(key)) for key in keys))

    async def stop(self, job: Any) -> None:
        await job.abort("asked to")

    async def is_drained(self) -> bool:
        return not await self._queue.count("incomplete")

    async def work(self, concurrency: int) -> None:
        names = ("noop", "enter", "wait", "nap", "block", "compute")
        functions = [(name, _taken(getattr(jobs, name))) for name in names]
        queue = _queue()
        await queue.connect()
        await Worker(queue, functions=functions, concurrency=concurrency).start()


def _taken(function: Callable[[str], Any]) -> Callable[..., Any]:
    """With its arguments as SAQ gives them."""
    if asyncio.iscoroutinefunction(function):

        async def run(_: Any, *, key: str) -> None:
            await function(key)

        return run

    def run_plain(_: Any, *, key: str) -> None:
        function(key)

    return run_plain


if __name__ == "__main__":
    main(OfSAQ())
