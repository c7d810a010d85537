"""Clients that send or read slowly, many connections, and long requests: none of them lasts."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil
import pytest

from tests.cli.servers import Serving, serving
from tests.workers import eventually

NOWHERE = "postgresql://nobody@127.0.0.1:1/none"
GET = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n"
MOST = 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("serve")
    limits = {"request_timeout": "1s", "max_connections": str(MOST), "connect_timeout": "200ms"}
    with serving(NOWHERE, folder, **limits) as server:
        yield server
        assert "Traceback" not in server.log


@contextmanager
def connection(server: Serving) -> Iterator[socket.socket]:
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), timeout=20) as made:
        yield made


def is_open(server: Serving, client: socket.socket) -> bool:
    """Return whether the server still has the other end, as the kernel says."""
    port = client.getsockname()[1]
    return any(
        one.raddr and one.raddr.port == port
        for one in psutil.Process(server.process.pid).net_connections("tcp")
        if one.status == psutil.CONN_ESTABLISHED
    )


def answers(server: Serving) -> bool:
    return httpx.get(f"{server.url}/healthz", timeout=20).status_code == 200


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"GET",
        GET,
        GET + b"\r\n" + GET,
        GET + b"\r\nPOST /login HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\nto",
        b"POST /login HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\ntok",
        b"POST /api/jobs HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{",
    ],
)
def test_a_request_that_does_not_arrive_is_cut(server: Serving, beginning: bytes) -> None:
    with connection(server) as client:
        client.sendall(beginning)
        eventually(lambda: not is_open(server, client), "the server hung up", within=10)
    assert answers(server)


def test_a_request_that_drips_is_cut_all_the_same(server: Serving) -> None:
    with connection(server) as client:
        client.sendall(GET)
        client.settimeout(0.1)

        def is_cut() -> bool:
            try:
                client.sendall(b"x: y\r\n")
                return client.recv(100) == b""
            except TimeoutError:
                return False
            except OSError:
                return True

        eventually(is_cut, "it is cut in the middle of its headers", within=10)


def test_an_answer_that_nobody_reads_is_given_up(server: Serving) -> None:
    with connection(server) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(0.2)
        ask = b"GET /static/components.css HTTP/1.1\r\nhost: localhost\r\n\r\n"
        with suppress(OSError):  # it stops reading, for nobody reads its answers
            for _ in range(5_000):
                client.sendall(ask * 20)
        eventually(lambda: not is_open(server, client), "the server hung up", within=15)
    assert answers(server)


@pytest.fixture
def silent_database() -> Iterator[str]:
    """The URL of a database that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"postgresql://nobody@127.0.0.1:{listener.getsockname()[1]}/none"


@pytest.fixture
def patient(tmp_path: Path, silent_database: str) -> Iterator[Serving]:
    """A server that cuts no client for being slow."""
    limits = {"request_timeout": "5m", "max_connections": str(MOST), "connect_timeout": "5s"}
    with serving(silent_database, tmp_path, **limits) as server:
        yield server


def test_half_open_requests_keep_nobody_out(patient: Serving) -> None:
    with ExitStack() as held:
        for _ in range(3 * MOST):
            held.enter_context(connection(patient)).sendall(GET)
        assert answers(patient)
        open_ones = [
            one
            for one in psutil.Process(patient.process.pid).net_connections("tcp")
            if one.status == psutil.CONN_ESTABLISHED
        ]
        assert MOST / 2 < len(open_ones) <= MOST


def test_answers_under_way_are_not_cut_for_new_connections(patient: Serving) -> None:
    """The connections that wait for a request go first; those that are served stay."""
    with connection(patient) as slow, ExitStack() as held:
        slow.sendall(GET.replace(b"healthz", b"readyz") + b"\r\n")  # answered after connect_timeout
        began = time.monotonic()
        for _ in range(2 * MOST):
            held.enter_context(connection(patient))
        assert time.monotonic() - began < 5, "the connections came while it was being served"
        assert slow.recv(12) == b"HTTP/1.1 503"


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (b"GET /api/jobs?text=" + b"x" * 10_000 + b" HTTP/1.1\r\nhost: a\r\n\r\n", b"414"),
        (b"GET /" + b"x" * 10_000 + b" HTTP/1.1\r\nhost: a\r\n\r\n", b"414"),
        (b"POST /login?" + b"x" * 10_000 + b" HTTP/1.1\r\nhost: a\r\n\r\n", b"414"),
        (GET + b"x: " + b"x" * 300_000, b"400"),
        (GET + b"x: y\r\n" * 60_000, b"400"),
    ],
)
def test_long_urls_and_headers_are_refused(server: Serving, request_: bytes, code: bytes) -> None:
    with connection(server) as client:
        client.sendall(request_)
        assert client.recv(12) == b"HTTP/1.1 " + code
