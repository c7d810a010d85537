"""RQ: a process is forked for every job."""

import logging
from typing import Any

import redis
import rq
from rq.command import send_stop_job_command

from bench.peers.programs import jobs
from bench.peers.programs.program import URL, Peer, main

_BATCH = 1_000
FUNCTIONS = {
    "noop": jobs.plain_noop,
    "plain": jobs.plain_noop,
    "enter": jobs.plain_enter,
    "wait": jobs.block,
    "block": jobs.block,
    "compute": jobs.compute,
}


class OfRQ(Peer):
    async def prepare(self) -> None:
        """Nothing."""

    async def open(self) -> None:
        self._redis = redis.Redis.from_url(URL)
        self._queue = rq.Queue(connection=self._redis)

    async def enqueue(self, job: str, key: str) -> Any:
        retry = rq.Retry(max=3)
        return self._queue.enqueue(FUNCTIONS[job], key, result_ttl=0, job_timeout=300, retry=retry)

    async def enqueue_many(self, job: str, n: int) -> None:
        for start in range(0, n, _BATCH):
            keys = range(start, min(n, start + _BATCH))
            function = FUNCTIONS[job]
            self._queue.enqueue_many(
                [rq.Queue.prepare_data(function, args=(str(key),), result_ttl=0) for key in keys]
            )

    async def stop(self, job: Any) -> None:
        send_stop_job_command(self._redis, job.id)

    async def is_drained(self) -> bool:
        running = self._redis.zcard("rq:wip:default")
        return not self._redis.llen("rq:queue:default") and not running

    async def work(self, concurrency: int) -> None:
        logging.disable(logging.INFO)
        connection = redis.Redis.from_url(URL)
        rq.Worker([rq.Queue(connection=connection)], connection=connection).work()


if __name__ == "__main__":
    main(OfRQ())
