"""How long a partial result takes from a job to the readers of its stream: one, and a thousand."""

import asyncio
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack

import psutil
import psycopg
import uvloop

from bench.api_asking import get
from bench.api_served import served
from bench.figures import Figure, console, figure
from bench.quantiles import quantile
from bench.working import Bench, worker
from tenure.control.client import Client
from tenure.domain.job import NEVER, NewJob

READERS = (1, 1_000)
EVERY = 0.2  # seconds between two partial results
TIMES = 50
AT_MOST = 50.0  # milliseconds at the median
APP = "bench.idle_app:app"
_PATIENCE = 60.0
_VALUE = re.compile(rb"event: partial\ndata: ([0-9.e]+)\n")
_COMMITS = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"


def stream(bench: Bench) -> Iterator[Figure]:
    """From ``emit`` in the job to the bytes at each reader, and what the readers cost."""
    commits: dict[int, float] = {}
    spent = 0.0
    for readers in READERS:
        console.print(f"stream of a job, {readers:,} readers")
        taken, commits[readers], spent = _measured(bench, readers)
        about = f"stream of a job, {readers:,} readers: emit to reader"
        yield figure(f"{about}, p50", quantile(taken, 0.5) * 1000, "ms", at_most=AT_MOST)
        yield figure(f"{about}, p99", quantile(taken, 0.99) * 1000, "ms")
    few, many = READERS
    yield figure(f"CPU of the server for one value to one of {many:,} readers", spent * 1e6, "us")
    reference = figure("transactions while one reader follows a job", commits[few], "1/s")
    yield reference
    yield figure(
        f"transactions while {many:,} readers follow it",
        commits[many],
        "1/s",
        against=reference,
        at_most=1.5,
    )


def _measured(bench: Bench, readers: int) -> tuple[list[float], float, float]:
    """Seconds that each value took to each reader, transactions in a second, CPU of a delivery."""
    with bench.server.database() as url, Client(url) as client, ExitStack() as stack:
        stack.enter_context(worker(bench, url, app=APP))
        place = stack.enter_context(served("own", url))
        sql = stack.enter_context(psycopg.connect(url, autocommit=True))
        wanted = NewJob(task="emits", args={"times": TIMES, "every": EVERY}, run_at=NEVER)
        [job] = client.store.enqueue([wanted])

        [server] = [one for one in psutil.Process().children() if _serves(one)]

        async def read() -> tuple[list[float], float, float]:
            streams = [_Stream(job.id) for _ in range(readers)]
            loop = asyncio.get_running_loop()
            for one in streams:
                await loop.create_connection(lambda one=one: one, *place)  # type: ignore[misc]
            async with asyncio.timeout(_PATIENCE):
                await asyncio.gather(*(one.begun for one in streams))
                before, began, cpu = _commits(sql), time.monotonic(), _cpu(server)
                await asyncio.to_thread(client.store.queue, job.id)
                await asyncio.gather(*(one.ended for one in streams))
            rate = (_commits(sql) - before) / (time.monotonic() - began)
            if any(len(one.taken) != TIMES for one in streams):
                raise RuntimeError("a reader missed values, or got them twice")
            spent = (_cpu(server) - cpu) / (TIMES * readers)
            return [each for one in streams for each in one.taken], rate, spent

        return uvloop.run(read())


def _serves(process: psutil.Process) -> bool:
    return "bench.api_served" in process.cmdline()


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _commits(sql: psycopg.Connection) -> int:
    row = sql.execute(_COMMITS).fetchone()
    assert row is not None
    return int(row[0])


class _Stream(asyncio.Protocol):
    """A reader that notes how old each value is when it arrives."""

    def __init__(self, job: int) -> None:
        loop = asyncio.get_running_loop()
        self.begun: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()
        self.taken: list[float] = []
        self._job = job
        self._left = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.write(get(f"/stream/{self._job}"))  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        now = time.time()
        text = self._left + data
        end = 0
        for found in _VALUE.finditer(text):
            self.taken.append(now - float(found[1]))
            end = found.end()
        if b'"completed"' in text and not self.ended.done():
            self.ended.set_result(None)
        self._left = text[end:]
        if b"event: status" in text and not self.begun.done():
            self.begun.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        for waiting in (self.begun, self.ended):
            if not waiting.done():
                waiting.set_exception(error or RuntimeError("a stream ended early"))
