"""arq."""

import asyncio
from contextlib import suppress
from typing import Any

from arq import Worker, create_pool, func
from arq.connections import RedisSettings
from arq.jobs import Job

from bench.peers.programs import jobs
from bench.peers.programs.program import URL, Peer, main

_TOGETHER = 500
_POLL = 0.01  # seconds; it comes with 0.5


async def noop(_: Any, key: str) -> None:
    await jobs.noop(key)


async def enter(_: Any, key: str) -> None:
    await jobs.enter(key)


async def wait(_: Any, key: str) -> None:
    await jobs.wait(key)


async def nap(_: Any, key: str) -> None:
    await jobs.nap(key)


class OfArq(Peer):
    async def prepare(self) -> None:
        """Nothing."""

    async def open(self) -> None:
        self._redis = await create_pool(RedisSettings.from_dsn(URL))

    async def close(self) -> None:
        await self._redis.aclose()

    async def enqueue(self, job: str, key: str) -> Any:
        return await self._redis.enqueue_job(job, key)

    async def enqueue_many(self, job: str, n: int) -> None:
        """There is no call for many: so many single ones at once."""
        for start in range(0, n, _TOGETHER):
            keys = range(start, min(n, start + _TOGETHER))
            await asyncio.gather(*(self.enqueue(job, str(key)) for key in keys))

    async def stop(self, job: Any) -> None:
        with suppress(asyncio.TimeoutError):  # it waits for the result, which nobody wants here
            await Job(job.job_id, self._redis).abort(timeout=0.001)

    async def is_drained(self) -> bool:
        return not await self._redis.zcard("arq:queue")

    async def work(self, concurrency: int) -> None:
        worker = Worker(
            functions=[func(each, timeout=300) for each in (noop, enter, wait, nap)],
            redis_settings=RedisSettings.from_dsn(URL),
            handle_signals=False,
            allow_abort_jobs=True,
            poll_delay=_POLL,
            max_jobs=concurrency,
        )
        await worker.async_run()


if __name__ == "__main__":
    main(OfArq())
