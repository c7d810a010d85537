"""How long the force close of an HTTP client takes, with requests that nobody will answer."""

import asyncio
import time
from collections.abc import Iterator

import httpx

from bench.figures import Figure, console, figure
from bench.working import Bench
from tenure.resources import HTTPResourceManager

_REQUESTS = 20


def force_close(bench: Bench) -> Iterator[Figure]:
    """Until the client is closed and all its requests have ended."""
    n = bench.amounts.closes
    console.print(f"{n} force closes")
    taken = [asyncio.run(_milliseconds()) for _ in range(n)]
    name = f"force close of an HTTP client with {_REQUESTS} requests under way"
    yield figure(f"{name}: p50", taken, "ms")
    yield figure(f"{name}: longest of {n}", max(taken), "ms", at_most=100)


async def _milliseconds() -> float:
    silent = _Silent()
    server = await asyncio.start_server(silent.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        async with httpx.AsyncClient(trust_env=False, timeout=600) as client:
            http = HTTPResourceManager(client)
            requests = [asyncio.create_task(http.get(url)) for _ in range(_REQUESTS)]
            await asyncio.wait_for(silent.all_asked.wait(), 30)
            start = time.perf_counter()
            await http.force_close()
            await asyncio.wait(requests)
            taken = time.perf_counter() - start
            assert all(request.exception() for request in requests)
            return taken * 1000
    finally:
        server.close()
        silent.leave.set()
        await server.wait_closed()


class _Silent:
    """Reads requests and answers none."""

    def __init__(self) -> None:
        self.all_asked = asyncio.Event()
        self.leave = asyncio.Event()
        self._asked = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self._asked += 1
        if self._asked == _REQUESTS:
            self.all_asked.set()
        await self.leave.wait()
        writer.close()
