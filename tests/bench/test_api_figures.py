"""How the benchmark of the API asks, and when it takes an answer for one."""

import asyncio
import socket
import threading

import pytest
from bench.api_asking import CONNECTIONS, get, is_whole, numbered, post, rate


def test_an_answer_is_whole_when_its_body_is() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nx: y\r\n\r\nhello"
    assert is_whole(answer)
    assert not any(is_whole(answer[:length]) for length in range(len(answer)))


def test_requests_are_as_a_server_reads_them() -> None:
    assert get("/a", "x: y\r\n") == b"GET /a HTTP/1.1\r\nhost: bench\r\nx: y\r\n\r\n"
    asked = post("/a", b"{}")
    assert asked.endswith(b"\r\n\r\n{}")
    assert b"content-length: 2\r\n" in asked


def test_each_request_is_another() -> None:
    make = numbered(lambda number: get(f"/{number}"))
    assert make() != make()


def test_a_server_that_refuses_is_not_measured() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno")
            await reader.read()
        finally:
            writer.close()

    async def serve(listening: socket.socket) -> None:
        server = await asyncio.start_server(refuse, sock=listening)
        async with server:
            await asyncio.to_thread(over.wait)

    over = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0), backlog=CONNECTIONS)
    place = listening.getsockname()
    serving = threading.Thread(target=lambda: asyncio.run(serve(listening)))
    serving.start()
    try:
        with pytest.raises(RuntimeError, match="401 Unauthorized"):
            rate(place, lambda: get("/"), 1.0)
    finally:
        over.set()
        serving.join()
