"""Many who ask at once, each over a connection of its own, as fast as they are answered."""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

import uvloop

CONNECTIONS = 16
WARM = 20  # answers on each of them, before anything is counted
_END = b"\r\n\r\n"
_LENGTH = b"content-length: "


def get(path: str, headers: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: bench\r\n{headers}\r\n".encode()


def post(path: str, body: bytes, headers: str = "") -> bytes:
    told = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return f"POST {path} HTTP/1.1\r\nhost: bench\r\n{told}{headers}\r\n".encode() + body


class Asker(asyncio.Protocol):
    """Sends the next request as soon as the last one was answered with success."""

    def __init__(self, request: Callable[[], bytes], over: asyncio.Event) -> None:
        self._request = request
        self._over = over
        self._heard = b""
        self.answered = 0
        self.problem: str | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.write(self._request())

    def data_received(self, data: bytes) -> None:
        self._heard += data
        if not is_whole(self._heard):
            return
        if not self._heard.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
            self.problem = self._heard[:500].decode(errors="replace")
            self._over.set()
            return
        self._heard = b""
        self.answered += 1
        self._transport.write(self._request())

    def connection_lost(self, error: Exception | None) -> None:
        if not self._over.is_set():
            self.problem = f"the connection was lost: {error}"
            self._over.set()

    def close(self) -> None:
        self._transport.close()


def is_whole(answer: bytes) -> bool:
    """Whether this is an answer with all of its body."""
    head, end, body = answer.partition(_END)
    if not end:
        return False
    _, named, rest = head.lower().partition(_LENGTH)
    assert named, "an answer without its length"
    return len(body) >= int(rest.partition(b"\r\n")[0])


def rate(place: tuple[str, int], request: Callable[[], bytes], seconds: float) -> float:
    """Answers in a second, once all connections are warm."""
    return uvloop.run(_rate(place, request, seconds))


async def _rate(place: tuple[str, int], request: Callable[[], bytes], seconds: float) -> float:
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    askers = [
        (await loop.create_connection(lambda: Asker(request, over), *place))[1]
        for _ in range(CONNECTIONS)
    ]
    while not over.is_set() and min(asker.answered for asker in askers) < WARM:
        await _pass(over, 0.01)
    before, began = sum(asker.answered for asker in askers), loop.time()
    await _pass(over, seconds)
    after, ended = sum(asker.answered for asker in askers), loop.time()
    problem = next((asker.problem for asker in askers if asker.problem), None)
    over.set()
    for asker in askers:
        asker.close()
    if problem is not None:
        raise RuntimeError(f"a request was not answered as it should be: {problem}")
    return (after - before) / (ended - began)


async def _pass(over: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await over.wait()
    except TimeoutError:
        return


def numbered(make: Callable[[int], bytes]) -> Callable[[], bytes]:
    """A request that is another each time."""
    numbers = count()
    return lambda: make(next(numbers))
