"""Dramatiq on Redis, with threads."""

import os
import sys
from typing import Any

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from bench.peers.programs import jobs
from bench.peers.programs.program import URL, Peer, main

_LONG = 200_000  # milliseconds

broker = RedisBroker(url=URL or "redis://127.0.0.1/0")
dramatiq.set_broker(broker)
ACTORS = {
    "noop": dramatiq.actor(jobs.plain_noop, actor_name="noop"),
    "plain": dramatiq.actor(jobs.plain_noop, actor_name="plain"),
    "enter": dramatiq.actor(jobs.plain_enter, actor_name="enter"),
    "wait": dramatiq.actor(jobs.block, actor_name="wait", time_limit=_LONG),
}


class OfDramatiq(Peer):
    async def prepare(self) -> None:
        """Nothing."""

    async def enqueue(self, job: str, key: str) -> Any:
        return ACTORS[job].send(key)

    async def enqueue_many(self, job: str, n: int) -> None:
        """There is no call for many."""
        for number in range(n):
            ACTORS[job].send(str(number))

    async def is_drained(self) -> bool:
        names = ("dramatiq:default", "dramatiq:default.msgs")
        return not broker.client.llen(names[0]) and not broker.client.hlen(names[1])

    async def work(self, concurrency: int) -> None:
        options = ["--processes", "1", "--threads", str(concurrency), "--skip-logging"]
        place = "bench.peers.programs.dramatiq"
        os.execv(sys.executable, [sys.executable, "-m", "dramatiq", place, *options])  # noqa: S606


if __name__ == "__main__":
    main(OfDramatiq())
