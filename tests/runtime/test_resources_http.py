"""HTTP clients against a real server on loopback that answers when it is told to."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
import uvloop

from tenure.errors import ResourceClosed
from tenure.resources import HTTPResourceManager

PATIENCE = 10.0


class SlowServer:
    """Answers the head at once where a body is streamed, and the rest once `answer` is set."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.answer = asyncio.Event()
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if b"/streamed" in head:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst")
            self.asked.set()
            await self.answer.wait()
            if b"/streamed" not in head:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
            writer.write(b"hello")
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def slow_server() -> AsyncIterator[SlowServer]:
    slow = SlowServer()
    server = await asyncio.start_server(slow.serve, "127.0.0.1", 0)
    slow.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield slow
    finally:
        slow.answer.set()
        server.close()
        await server.wait_closed()


def with_server(test: Callable[[SlowServer, HTTPResourceManager], Awaitable[None]]) -> None:
    async def run() -> None:
        async with slow_server() as server, httpx.AsyncClient(trust_env=False) as client:
            async with asyncio.timeout(PATIENCE):
                await test(server, HTTPResourceManager(client))

    for make_loop in (asyncio.new_event_loop, uvloop.new_event_loop):
        with asyncio.Runner(loop_factory=make_loop) as runner:
            runner.run(run())


def test_requests_through_the_manager_and_through_the_client_are_both_tracked() -> None:
    async def test(server: SlowServer, http: HTTPResourceManager) -> None:
        for get in (http.get, http.client.get):
            server.asked.clear()
            server.answer.clear()
            request = asyncio.create_task(get(server.url))
            await server.asked.wait()
            assert http.is_active()
            assert http.active_requests == 1
            server.answer.set()
            assert (await request).text == "hello"
            assert not http.is_active()

    with_server(test)


def test_a_graceful_close_waits_for_the_request_under_way() -> None:
    async def test(server: SlowServer, http: HTTPResourceManager) -> None:
        request = asyncio.create_task(http.get(server.url))
        await server.asked.wait()
        closing = asyncio.create_task(http.close_gracefully(PATIENCE))
        done, _ = await asyncio.wait({closing}, timeout=0.05)
        assert not done
        assert not http.client.is_closed
        server.answer.set()
        assert await closing
        assert (await request).text == "hello"
        assert http.client.is_closed

    with_server(test)


def test_a_request_is_refused_while_the_client_closes() -> None:
    async def test(server: SlowServer, http: HTTPResourceManager) -> None:
        request = asyncio.create_task(http.get(server.url))
        await server.asked.wait()
        closing = asyncio.create_task(http.close_gracefully(PATIENCE))
        await asyncio.sleep(0)
        with pytest.raises(ResourceClosed, match="is being closed and takes no new requests"):
            await http.client.get(server.url)
        server.answer.set()
        await request
        assert await closing

    with_server(test)


def test_a_graceful_close_gives_up_at_its_timeout() -> None:
    async def test(server: SlowServer, http: HTTPResourceManager) -> None:
        request = asyncio.create_task(http.get(server.url))
        await server.asked.wait()
        assert not await http.close_gracefully(timeout_seconds=0.02)
        server.answer.set()
        await request

    with_server(test)


def test_a_force_close_ends_requests_that_would_never_be_answered() -> None:
    async def test(server: SlowServer, http: HTTPResourceManager) -> None:
        request = asyncio.create_task(http.get(server.url, timeout=None))
        await server.asked.wait()
        await http.force_close()
        assert http.client.is_closed
        with pytest.raises(ResourceClosed, match="was closed during the request"):
            await request
        assert not request.cancelling()
        assert not http.is_active()

    with_server(test)


def test_a_task_that_is_cancelled_as_well_stays_cancelled() -> None:
    async def test(server: SlowServer, http: HTTPResourceManager) -> None:
        request = asyncio.create_task(http.get(server.url, timeout=None))
        await server.asked.wait()
        request.cancel()
        await http.force_close()
        with pytest.raises(asyncio.CancelledError):
            await request

    with_server(test)


def test_a_body_that_is_still_being_read_counts_as_a_request() -> None:
    async def test(server: SlowServer, http: HTTPResourceManager) -> None:
        async with http.stream("GET", f"{server.url}/streamed", timeout=None) as response:
            assert http.is_active()
            assert not await http.close_gracefully(0.02)
            server.answer.set()
            assert await response.aread() == b"firsthello"
        assert not http.is_active()
        assert await http.close_gracefully(PATIENCE)

    with_server(test)


def test_a_force_close_ends_the_reading_of_a_body() -> None:
    async def test(server: SlowServer, http: HTTPResourceManager) -> None:
        async with http.stream("GET", f"{server.url}/streamed", timeout=None) as response:
            await http.force_close()
            with pytest.raises((httpx.HTTPError, httpx.StreamError)):
                await response.aread()

    with_server(test)


def test_another_client_is_tracked_by_a_block_and_closed_by_its_own_method() -> None:
    class Client:
        closed = False

        async def close(self) -> None:
            self.closed = True

    async def test() -> None:
        http = HTTPResourceManager(Client())
        entered, leave = asyncio.Event(), asyncio.Event()

        async def work() -> None:
            async with http.tracked_request():
                entered.set()
                await leave.wait()

        working = asyncio.create_task(work())
        await entered.wait()
        assert http.active_requests == 1
        assert not await http.close_gracefully(0.01)
        assert not http.closed
        await http.force_close()
        with pytest.raises(ResourceClosed):
            await working
        assert http.closed

    asyncio.run(test())


class PlainServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        self.asked, self.answer = threading.Event(), threading.Event()
        super().__init__(("127.0.0.1", 0), PlainHandler)
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


class PlainHandler(BaseHTTPRequestHandler):
    server: PlainServer

    def do_GET(self) -> None:
        self.server.asked.set()
        self.server.answer.wait()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture
def plain_server() -> Iterator[PlainServer]:
    server = PlainServer()
    serving = threading.Thread(target=server.serve_forever, args=(0.01,))
    serving.start()
    yield server
    server.answer.set()
    server.shutdown()
    serving.join()
    server.server_close()


def in_a_thread(function: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    ends: list[Any] = []

    def run() -> None:
        try:
            ends.append(function())
        except Exception as error:  # noqa: BLE001
            ends.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, ends


def test_a_plain_client_is_waited_for(plain_server: PlainServer) -> None:
    http = HTTPResourceManager(httpx.Client(trust_env=False))
    thread, ends = in_a_thread(lambda: http.get(plain_server.url).text)
    assert plain_server.asked.wait(PATIENCE)
    assert not asyncio.run(http.close_gracefully(0.02))
    plain_server.answer.set()
    assert asyncio.run(http.close_gracefully(PATIENCE))
    thread.join(PATIENCE)
    assert ends == ["hello"]
    assert http.client.is_closed


def test_a_plain_client_that_blocks_in_another_thread_is_ended_by_force(
    plain_server: PlainServer,
) -> None:
    http = HTTPResourceManager(httpx.Client(trust_env=False, timeout=None))
    thread, ends = in_a_thread(lambda: http.get(plain_server.url))
    assert plain_server.asked.wait(PATIENCE)
    asyncio.run(http.force_close())
    thread.join(PATIENCE)
    assert [type(end) for end in ends] == [ResourceClosed]
    assert not http.is_active()
