"""PgQueuer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Context, Job
from pgqueuer.queries import Queries

from bench.peers.programs import jobs
from bench.peers.programs.program import URL, Peer, main

_BATCH = 5_000


class OfPgQueuer(Peer):
    async def prepare(self) -> None:
        await self.open()
        await self._queries.install()
        await self.close()

    async def open(self) -> None:
        self._connection = await asyncpg.connect(URL)
        self._queries = Queries(AsyncpgDriver(self._connection))

    async def close(self) -> None:
        await self._connection.close()

    async def enqueue(self, job: str, key: str) -> Any:
        [made] = await self._queries.enqueue(job, key.encode(), 0)
        return made

    async def enqueue_many(self, job: str, n: int) -> None:
        for start in range(0, n, _BATCH):
            keys = [str(number).encode() for number in range(start, min(n, start + _BATCH))]
            await self._queries.enqueue([job] * len(keys), keys, [0] * len(keys))

    async def stop(self, job: Any) -> None:
        await self._queries.mark_job_as_cancelled([job])

    async def is_drained(self) -> bool:
        return not await self._connection.fetchval("SELECT EXISTS (SELECT FROM pgqueuer)")

    async def work(self, concurrency: int) -> None:
        await self.open()
        queue = PgQueuer(AsyncpgDriver(self._connection))
        for name in ("noop", "enter", "nap"):
            _register(queue, name, getattr(jobs, name))
        _register_plain(queue, "plain", jobs.plain_noop)
        _register_stoppable(queue, "wait", jobs.wait)
        await queue.run(batch_size=concurrency)


def _register(queue: PgQueuer, name: str, function: Callable[[str], Awaitable[None]]) -> None:
    @queue.entrypoint(name)
    async def run(job: Job) -> None:
        await function(job.payload.decode())


def _register_plain(queue: PgQueuer, name: str, function: Callable[[str], None]) -> None:
    """An entry point is a coroutine; it runs other functions in a thread."""

    @queue.entrypoint(name)
    async def run(job: Job) -> None:
        await asyncio.to_thread(function, job.payload.decode())


def _register_stoppable(
    queue: PgQueuer, name: str, function: Callable[[str], Awaitable[None]]
) -> None:
    """A stop reaches only what the function puts into its scope."""

    @queue.entrypoint(name)
    async def run(job: Job, context: Context) -> None:
        with context.cancellation:
            await function(job.payload.decode())


if __name__ == "__main__":
    main(OfPgQueuer())
