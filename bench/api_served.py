"""The servers that are measured: ours, one with a route of its own, and bare ones beside them.

A bare endpoint has the same query behind it, and the same pool of connections. All have the same
event loop and the same server around them.
"""

import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from starlette.types import ASGIApp

from bench.stream_floor import StreamFloor
from bench.working import ROOT
from tenure.control.client import Client
from tenure.control.handle import Handle
from tenure.domain.tenant import DEFAULT
from tenure.store.store import AsyncStore
from tenure.web import create_app, stream_response

_SHOW = b'SELECT CAST("tenure"."show"("job" => CAST(%s AS pg_catalog.int8)) AS pg_catalog.text)'
_ENQUEUE = (
    b'SELECT CAST("tenure"."enqueue"("jobs" => CAST(%s AS pg_catalog.jsonb)) AS pg_catalog.text)'
)


def bare(url: str) -> FastAPI:
    """What one would write by hand: no names, no roles, no limits."""
    store = AsyncStore(url)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with store:
            yield

    app = FastAPI(lifespan=lifespan)

    @app.get("/api/jobs/{job}")
    async def show(job: int) -> Response:
        return Response(await _asked(_SHOW, job), media_type="application/json")

    @app.post("/api/jobs")
    async def enqueue(job: dict[str, Any]) -> Response:
        made = await _asked(_ENQUEUE, json.dumps([job]))
        return Response(made, 201, media_type="application/json")

    async def _asked(query: bytes, value: object) -> str:
        async with store._pool.connection(store.tenant) as opened:
            cursor = await opened.connection.execute(query, (value,))
            row = await cursor.fetchone()
        assert row is not None
        return str(row[0])

    return app


def ours(url: str) -> FastAPI:
    return create_app(Client(url))


def own(url: str) -> FastAPI:
    """A service of somebody's own, whose route streams a job."""
    app, client = FastAPI(), Client(url)

    @app.get("/stream/{job}")
    async def stream(job: int, request: Request) -> Response:
        return stream_response(Handle[Any](client, job, DEFAULT), request)

    return app


def main(which: str, url: str, number: int) -> None:
    makers: dict[str, Callable[[str], ASGIApp]]
    makers = {"bare": bare, "own": own, "ours": ours, "floor": StreamFloor}
    app = makers[which](url)
    config = uvicorn.Config(
        app,
        fd=number,
        loop="uvloop",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
    )
    uvicorn.Server(config).run()


@contextmanager
def served(which: str, url: str) -> Iterator[tuple[str, int]]:
    """Where it listens, in a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        # A socket that was handed over is not known to be TCP, and nobody else sets it.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", __name__, which, url, str(listening.fileno())],
            cwd=ROOT,
            pass_fds=[listening.fileno()],
            stdin=subprocess.DEVNULL,
        )
        try:
            yield listening.getsockname()
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
