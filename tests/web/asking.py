"""Somebody who sends requests to an app, in the same process."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from fastapi import FastAPI


class Http:
    """Plain calls of an app; its event loop turns only while somebody asks."""

    def __init__(self, runner: asyncio.Runner, sender: httpx.AsyncClient) -> None:
        self._runner = runner
        self._sender = sender

    def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        return self._runner.run(self._sender.request(method, path, **more))

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

        return self._runner.run(all_of_them())

    def as_(self, headers: dict[str, str]) -> "Http":
        """The same app, asked by somebody else."""
        transport, base = self._sender._transport, self._sender.base_url
        return Http(
            self._runner, httpx.AsyncClient(transport=transport, base_url=base, headers=headers)
        )


@contextmanager
def asking(app: FastAPI, base_url: str = "http://tenure") -> Iterator[Http]:
    with asyncio.Runner() as runner:
        lifespan = app.router.lifespan_context(app)
        runner.run(lifespan.__aenter__())
        transport = httpx.ASGITransport(app, raise_app_exceptions=True)
        try:
            yield Http(runner, httpx.AsyncClient(transport=transport, base_url=base_url))
        finally:
            runner.run(lifespan.__aexit__(None, None, None))


def problem(answer: httpx.Response) -> tuple[int, str, str]:
    """The status, the type and the sentence of an error; there is nothing else in it."""
    body = answer.json()
    assert body.keys() == {"error"}, body
    assert body["error"].keys() == {"type", "message"}, body
    return answer.status_code, body["error"]["type"], body["error"]["message"]
