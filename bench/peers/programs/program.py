"""The command line of every program: one subcommand for each measurement.

    python -m bench.peers.programs.NAME prepare
    python -m bench.peers.programs.NAME worker 100

What it found out it prints as JSON, on one line.
"""

import asyncio
import json
import os
import random
import sys
import time
from abc import ABC, abstractmethod
from typing import Any

from bench.peers.programs.notes import now, ours

URL = os.environ.get("BENCH_URL", "")
_FIRST = 5  # warm-up jobs, not counted: they open connections and import code
_STARTS = 30.0  # seconds that a job may take to start


class Peer(ABC):
    """The names of the jobs are those of ``bench.peers.programs.jobs``."""

    @abstractmethod
    async def prepare(self) -> None:
        """Create an empty queue."""

    async def open(self) -> None:  # noqa: B027 - optional
        """Connect, before any of the calls below."""

    async def close(self) -> None:  # noqa: B027 - optional
        """Disconnect, after the last call."""

    @abstractmethod
    async def enqueue(self, job: str, key: str) -> Any:
        """Enqueue one job; return what ``stop`` needs to find it."""

    @abstractmethod
    async def enqueue_many(self, job: str, n: int) -> None:
        """Enqueue in bulk, in the fastest way that the peer documents."""

    async def stop(self, job: Any) -> None:
        """Ask the job to stop. The list of peers says which peers cannot do this."""
        raise NotImplementedError

    @abstractmethod
    async def is_drained(self) -> bool:
        """Return True once all jobs have ended and their outcomes are stored."""

    @abstractmethod
    async def work(self, concurrency: int) -> None:
        """Run a worker; never returns."""


def main(peer: Peer) -> None:
    command, *args = sys.argv[1:]
    told = asyncio.run(_do(peer, command, args))
    if told is not None:
        sys.stdout.write(json.dumps(told) + "\n")


async def _do(peer: Peer, command: str, args: list[str]) -> Any:
    match command, args:
        case "prepare", []:
            return await peer.prepare()
        case "worker", [concurrency]:
            return await peer.work(int(concurrency))
    await peer.open()
    try:
        match command, args:
            case "enqueue", [job, key]:
                return await _one(peer, job, key)
            case "enqueue-singly", [n]:
                return await _singly(peer, int(n))
            case "enqueue-many", [job, n]:
                return await _many(peer, job, int(n))
            case "pick-up", [n]:
                return await _pick_up(peer, int(n))
            case "stop", [job, n, patience]:
                return await _stop(peer, job, int(n), float(patience))
            case "drained", [n, patience]:
                return await _drained(peer, int(n), float(patience))
            case _:
                sys.exit(f"there is no command {command} {args}")
    finally:
        await peer.close()


async def _one(peer: Peer, job: str, key: str) -> None:
    await peer.enqueue(job, key)


async def _singly(peer: Peer, n: int) -> float:
    """Return jobs per second, enqueued one call at a time."""
    for number in range(_FIRST):
        await peer.enqueue("noop", f"first-{number}")
    began = now()
    for number in range(n):
        await peer.enqueue("noop", str(number))
    return n / (now() - began)


async def _many(peer: Peer, job: str, n: int) -> float:
    began = now()
    await peer.enqueue_many(job, n)
    return n / (now() - began)


async def _pick_up(peer: Peer, n: int) -> list[float]:
    """Return seconds from each enqueue to the first line of the function."""
    called = {}
    for number in range(_FIRST + n):
        await asyncio.sleep(0.03 * (1 + random.random()))  # noqa: S311 - only jitter
        called[str(number)] = now()
        await peer.enqueue("enter", str(number))
    ours.wait_for("entered", _FIRST + n - 1, _STARTS)
    entered = {event.key: event.at for event in ours.noted("entered")}
    return [
        entered[key] - at for key, at in called.items() if int(key) >= _FIRST and key in entered
    ]


async def _stop(peer: Peer, job: str, n: int, patience: float) -> list[float | None]:
    """Return seconds from each stop to the end of the code; None for code that keeps running."""
    taken: list[float | None] = []
    for number in range(n):
        key = f"{job}-{number}"
        made = await peer.enqueue(job, key)
        if (entered := ours.wait_for("entered", key, _STARTS)) is None:
            sys.exit(f"{job} {number} did not start within {_STARTS:g} s")
        await asyncio.sleep(0.2 + random.random() * 0.6)  # noqa: S311 - only jitter
        asked = now()
        await peer.stop(made)
        ended = _end_of(key, entered.pid, asked + patience)
        taken.append(None if ended is None else ended - asked)
        if ended is None:
            break  # the next jobs would only wait for its slot
    return taken


def _end_of(key: str, pid: int, until: float) -> float | None:
    """Return when the job noted its end, or when its process was gone; None if neither."""
    while now() < until:
        if (event := ours.first("stopped", key)) is not None:
            return event.at
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return now()
        time.sleep(0.002)
    return None


async def _drained(peer: Peer, n: int, patience: float) -> float | None:
    """Return when all jobs had ended; the peer is not queried before n jobs have run."""
    ours.note("watching", n)
    end = now() + patience
    while now() < end:
        if sum(ours.counted().values()) >= n and await peer.is_drained():
            return now()
        await asyncio.sleep(0.005)
    return None
