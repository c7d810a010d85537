"""Somebody who sends requests to an app, in the same process."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi import FastAPI

T = TypeVar("T")


class Http:
    """Plain calls of an app; its event loop is another thread's, and turns all the time."""

    def __init__(self, app: FastAPI, loop: BlockingPortal, sender: httpx.AsyncClient) -> None:
        self._app = app
        self._loop = loop
        self._sender = sender

    def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        return self.run(self._sender.request(method, path, **more))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Something else in the event loop of the app."""
        done: T = self._loop.call(lambda: work)
        return done

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.send("GET", path, **more)

    def post(self, path: str, body: Any = None, **more: Any) -> httpx.Response:
        return self.send("POST", path, json={} if body is None else body, **more)

    def put(self, path: str, body: Any = None, **more: Any) -> httpx.Response:
        return self.send("PUT", path, json={} if body is None else body, **more)

    def delete(self, path: str, **more: Any) -> httpx.Response:
        return self.send("DELETE", path, **more)

    def together(self, *requests: tuple[str, str, Any]) -> list[httpx.Response]:
        """All of them at once: method, path and body."""

        async def all_of_them() -> list[httpx.Response]:
            sent = (self._sender.request(how, where, json=what) for how, where, what in requests)
            return await asyncio.gather(*sent)

        return self.run(all_of_them())

    def opens(self, path: str, headers: dict[str, str]) -> tuple[int, str]:
        """The status and the beginning of an answer that may never end, and leave."""
        return self.run(_opened(self._app, path, headers))

    def as_(self, headers: dict[str, str]) -> "Http":
        """The same app, asked by somebody else."""
        transport, base = self._sender._transport, self._sender.base_url
        sender = httpx.AsyncClient(transport=transport, base_url=base, headers=headers)
        return Http(self._app, self._loop, sender)


@contextmanager
def asking(
    app: FastAPI, base_url: str = "http://localhost", *, lifespan: bool = True
) -> Iterator[Http]:
    """Without its lifespan it is an app as it is when mounted in another."""
    with start_blocking_portal() as loop:
        running = app.router.lifespan_context(app) if lifespan else nullcontext()
        loop.call(running.__aenter__)
        sender = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=base_url)
        try:
            yield Http(app, loop, sender)
        finally:
            loop.call(running.__aexit__, None, None, None)


async def _opened(app: FastAPI, path: str, headers: dict[str, str]) -> tuple[int, str]:
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "server": ("tenure", 80),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    begun = asyncio.Event()
    status, text = 0, b""

    async def receive() -> dict[str, Any]:
        await begun.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal status, text
        status = message.get("status", status)
        text += message.get("body", b"")
        if b"data" in text or not message.get("more_body", True):
            begun.set()

    await app(scope, receive, send)
    return status, text.decode()


def problem(answer: httpx.Response) -> tuple[int, str, str]:
    """The status, the type and the sentence of an error; there is nothing else in it."""
    body = answer.json()
    assert body.keys() == {"error"}, body
    assert body["error"].keys() == {"type", "message"}, body
    return answer.status_code, body["error"]["type"], body["error"]["message"]
