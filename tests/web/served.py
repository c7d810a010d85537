"""The API behind a real server, as others see it from outside."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn
from starlette.types import ASGIApp


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """Its address, as long as it is served; nothing of it is left afterwards."""
    server = uvicorn.Server(
        uvicorn.Config(app, port=0, log_config=None, ws="none", timeout_graceful_shutdown=5)
    )
    serving = threading.Thread(target=lambda: asyncio.run(server.serve()))
    started = threading.Event()
    startup = server.startup

    async def begin(sockets: Any = None) -> None:
        await startup(sockets)
        started.set()

    server.startup = begin  # type: ignore[method-assign]
    serving.start()
    try:
        assert started.wait(20)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        serving.join(20)
        assert not serving.is_alive()


@dataclass(frozen=True)
class Told:
    """One server-sent event."""

    id: str
    kind: str
    data: Any


def events(answer: httpx.Response) -> Iterator[Told | str]:
    """Events as they come, and comments as texts."""
    fields: dict[str, str] = {}
    for line in answer.iter_lines():
        if line.startswith(":"):
            yield line
        elif line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield Told(fields["id"], fields["event"], json.loads(fields["data"]))
            fields = {}
        else:
            fields = {}
