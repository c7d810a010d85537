"""How long a partial result takes from a job to the readers of its stream, and what they cost."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import psutil
import psycopg
import uvloop

from bench.api_asking import get
from bench.api_served import served
from bench.figures import Figure, console, figure
from bench.quantiles import quantile
from bench.stream_floor import BEGIN, EVERY, TIMES
from bench.working import Bench, worker
from tenure.control.client import Client
from tenure.domain.job import NEVER, NewJob

FEW, MANY = (1, 100), 1_000
AT_MOST = 50.0  # milliseconds at the median
COST = 1.5  # at most so many times the CPU of a bare app
APP = "bench.idle_app:app"
_PATIENCE = 60.0
_PART = 0.8  # of the time that values come: what the ends of streams cost is not counted
_VALUE = re.compile(rb"event: partial\ndata: ([0-9.e]+)\n")
_BEGUN, _END = b"event: status", b"0\r\n\r\n"  # the last chunk of a response
_COMMITS = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"


@dataclass(frozen=True)
class Run:
    taken: list[float]  # seconds that each value took to each reader
    cpu: float  # seconds of the server for one value to one reader
    commits: float = 0.0  # transactions in a second

    def at(self, part: float) -> float:
        return quantile(self.taken, part) * 1000


def stream(bench: Bench) -> Iterator[Figure]:
    """From ``emit`` in the job to the bytes at each reader, beside a bare app that writes them."""
    floors: list[Run] = []
    runs: dict[int, list[Run]] = {}
    for readers in FEW:
        console.print(f"stream of a job, {readers:,} readers")
        runs[readers] = [_followed(bench, readers)]
    for _ in range(bench.amounts.rounds):
        console.print(f"stream of a job, {MANY:,} readers, and a bare app, by turns")
        floors.append(_written(MANY))
        runs.setdefault(MANY, []).append(_followed(bench, MANY))
    for readers, rounds in runs.items():
        about = f"stream of a job, {readers:,} readers: emit to reader"
        yield figure(f"{about}, p50", [run.at(0.5) for run in rounds], "ms", at_most=AT_MOST)
        yield figure(f"{about}, p99", [run.at(0.99) for run in rounds], "ms")
    about = f"bare app that writes to {MANY:,} readers"
    yield figure(f"{about}: write to reader, p50", [run.at(0.5) for run in floors], "ms")
    floor = figure(f"{about}: CPU for one value to one", [run.cpu * 1e6 for run in floors], "us")
    yield floor
    yield figure(
        f"CPU of the server for one value to one of {MANY:,} readers",
        [run.cpu * 1e6 for run in runs[MANY]],
        "us",
        against=floor,
        at_most=COST,
    )
    [one] = runs[1]
    reference = figure("transactions while one reader follows a job", one.commits, "1/s")
    yield reference
    yield figure(
        f"transactions while {MANY:,} readers follow it",
        [run.commits for run in runs[MANY]],
        "1/s",
        against=reference,
        at_most=1.5,
    )


def _followed(bench: Bench, readers: int) -> Run:
    with bench.server.database() as url, Client(url) as client, ExitStack() as stack:
        stack.enter_context(worker(bench, url, app=APP))
        sql = stack.enter_context(psycopg.connect(url, autocommit=True))
        wanted = NewJob(task="emits", args={"times": TIMES, "every": EVERY}, run_at=NEVER)
        [job] = client.store.enqueue([wanted])
        before, began = 0, 0.0

        async def begin(_: tuple[str, int]) -> None:
            nonlocal before, began
            before, began = _commits(sql), time.monotonic()
            await asyncio.to_thread(client.store.queue, job.id)

        run = _run("own", url, f"/stream/{job.id}", readers, begin)
        return Run(run.taken, run.cpu, (_commits(sql) - before) / (time.monotonic() - began))


def _written(readers: int) -> Run:
    async def begin(place: tuple[str, int]) -> None:
        reading, writing = await asyncio.open_connection(*place)
        writing.write(get(BEGIN))
        await reading.readuntil(_END)
        writing.close()

    return _run("floor", "", "/", readers, begin)


def _run(
    which: str,
    url: str,
    path: str,
    readers: int,
    begin: Callable[[tuple[str, int]], Awaitable[None]],
) -> Run:
    """Let the values begin when all readers have begun."""

    async def read() -> Run:
        with served(which, url) as place:
            streams = [_Stream(path) for _ in range(readers)]
            loop = asyncio.get_running_loop()
            for one in streams:
                await loop.create_connection(lambda one=one: one, *place)  # type: ignore[misc]
            async with asyncio.timeout(_PATIENCE):
                await asyncio.gather(*(one.begun for one in streams))
                [server] = [one for one in psutil.Process().children() if _serves(one)]
                before = _cpu(server)
                await begin(place)
                await asyncio.sleep(TIMES * EVERY * _PART)
                spent, now = _cpu(server) - before, time.time()
                await asyncio.gather(*(one.ended for one in streams))
        values = [one.values for one in streams]
        if any(len(each) != TIMES for each in values):
            raise RuntimeError("a reader missed values, or got them twice")
        arrived = [value for each in values for value in each]
        delivered = sum(at < now for at, _ in arrived)
        return Run([taken for _, taken in arrived], spent / delivered)

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
    """A reader that notes when what arrives; it shares the processors, so it reads that later."""

    def __init__(self, path: str) -> None:
        loop = asyncio.get_running_loop()
        self.begun: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()
        self._path = path
        self._arrived: list[tuple[float, bytes]] = []

    @property
    def values(self) -> list[tuple[float, float]]:
        """When each value arrived, and how old it was."""
        found: list[tuple[float, float]] = []
        left = b""
        for now, data in self._arrived:
            text, end = left + data, 0
            for value in _VALUE.finditer(text):
                found.append((now, now - float(value[1])))
                end = value.end()
            left = text[end:]
        return found

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.write(get(self._path))  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        self._arrived.append((time.time(), data))
        if data.endswith(_END) and not self.ended.done():
            self.ended.set_result(None)
        elif not self.begun.done() and _BEGUN in data:
            self.begun.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        for waiting in (self.begun, self.ended):
            if not waiting.done():
                waiting.set_exception(error or RuntimeError("a stream ended early"))
