"""Celery on Redis, with processes."""

import os
import sys
from typing import Any

import redis
from celery import Celery

from bench.peers.programs import jobs
from bench.peers.programs.program import URL, Peer, main

_QUEUE = "celery"

app = Celery("bench", broker=URL or "redis://127.0.0.1/0")
app.conf.update(
    task_ignore_result=True,
    worker_prefetch_multiplier=64,
    broker_connection_retry_on_startup=True,
)
TASKS = {
    "noop": app.task(name="noop")(jobs.plain_noop),
    "plain": app.task(name="plain")(jobs.plain_noop),
    "enter": app.task(name="enter")(jobs.plain_enter),
    "wait": app.task(name="wait")(jobs.block),
    "block": app.task(name="block")(jobs.block),
    "compute": app.task(name="compute")(jobs.compute),
}


class OfCelery(Peer):
    async def prepare(self) -> None:
        """Nothing."""

    async def open(self) -> None:
        self._redis = redis.Redis.from_url(URL)

    async def enqueue(self, job: str, key: str) -> Any:
        return TASKS[job].apply_async((key,))

    async def enqueue_many(self, job: str, n: int) -> None:
        """There is no call for many: one connection is kept for all."""
        with app.producer_pool.acquire(block=True) as producer:
            for number in range(n):
                TASKS[job].apply_async((str(number),), producer=producer)

    async def stop(self, job: Any) -> None:
        app.control.revoke(job.id, terminate=True, signal="SIGTERM")

    async def is_drained(self) -> bool:
        return not self._redis.llen(_QUEUE) and not self._redis.hlen("unacked")

    async def work(self, concurrency: int) -> None:
        options = ["--pool", "prefork", "--concurrency", str(concurrency), "--loglevel", "ERROR"]
        quiet = ["--without-gossip", "--without-mingle", "--hostname", f"{os.getpid()}@bench"]
        celery = [sys.executable, "-m", "celery", "-A", "bench.peers.programs.celery", "worker"]
        os.execv(sys.executable, [*celery, *options, *quiet])  # noqa: S606


if __name__ == "__main__":
    main(OfCelery())
