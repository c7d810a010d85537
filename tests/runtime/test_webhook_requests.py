"""Requests to webhooks: where they may go, and what a receiver cannot do to a worker."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tenure.runtime.webhooks import request
from tenure.runtime.webhooks.addresses import AllowedHosts, is_public, read_address
from tenure.runtime.webhooks.request import RequestFailed, Response, post
from tests.receiver import receiver

LOOPBACK = AllowedHosts("127.0.0.1")
NOBODY = AllowedHosts(None)


def send(url: str, allowed: AllowedHosts = NOBODY, **more: Any) -> Response:
    return asyncio.run(post(url, {"webhook-id": "msg_1"}, b"{}", allowed, **more))


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0"),
        *("100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192", "198.18.0.1"),
        *("224.0.0.1", "240.0.0.1", "255.255.255.255"),
        *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1"),
        *("::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:169.254.169.254", "::127.0.0.1"),
        *("64:ff9b::7f00:1", "64:ff9b::10.0.0.1", "64:ff9b:1::7f00:1"),
        *("2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:7f00:1::"),
    ],
)
def test_no_spelling_of_a_private_address_counts_as_public(address: str) -> None:
    assert not is_public(read_address(address))


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"]
)
def test_public_addresses_count_as_public(address: str) -> None:
    assert is_public(read_address(address))


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0"),
        *("[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]"),
        *("169.254.169.254", "LOCALHOST"),
    ],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_private_host_is_not_reached_however_it_is_spelled(host: str, scheme: str) -> None:
    with receiver() as found:
        port = found.url.rpartition(":")[2].partition("/")[0]
        with pytest.raises(RequestFailed, match="is a private address"):
            send(f"{scheme}://{host}:{port}/")
        assert found.received == []


def test_a_refusal_says_what_would_be_right() -> None:
    with pytest.raises(RequestFailed, match=r"is a private address; .* the setting webhook_hosts"):
        send("https://127.0.0.1/")
    with pytest.raises(RequestFailed, match="http:// is only for hosts of the setting"):
        send("http://8.8.8.8/")
    for url in ("ftp://127.0.0.1/", "https:///x", "https://a@127.0.0.1/", "https://h:0/"):
        with pytest.raises(RequestFailed, match="does not name a host by https://"):
            send(url, LOOPBACK)
    for url in (
        "https://[::1/",
        "https://h:99999/",
        "https://.example.org/",
        f"https://{'a' * 70}/",
    ):
        with pytest.raises(RequestFailed):
            send(url, AllowedHosts(".example.org"))


@pytest.mark.parametrize("allowed", ["127.0.0.1", "127.0.0.0/8", "hooks.internal,127.0.0.1/32"])
def test_an_address_that_the_operator_allows_is_reached(allowed: str) -> None:
    with receiver() as found:
        assert send(found.url, AllowedHosts(allowed)) == (204, 0.0)
        [received] = found.received
    assert (received.path, received.body) == ("/in?a=b", b"{}")
    assert received.headers["host"] == found.url.split("/")[2]


def test_a_name_is_resolved_once_and_all_its_addresses_are_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers: list[list[str]] = []

    def resolve(_host: str, port: int, **_: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, port)) for a in answers.pop(0)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    answers[:] = [["93.184.216.34", "127.0.0.1"]]
    with pytest.raises(RequestFailed, match=r"rebinding\.example is a private address"):
        send("https://rebinding.example/")
    answers[:] = [["10.1.2.3", "10.9.9.9"]]
    with pytest.raises(RequestFailed, match="is a private address"):
        send("https://rebinding.example/", AllowedHosts("10.1.0.0/16"))
    # Allowed by its name: it connects to the address that was checked, and asks no second time.
    with receiver() as found:
        port = found.url.rpartition(":")[2].partition("/")[0]
        answers[:] = [["127.0.0.1"], ["127.0.0.2"]]
        url = f"http://hooks.internal:{port}/"
        assert send(url, AllowedHosts("hooks.internal")).status == 204
        assert found.received[0].headers["host"] == f"hooks.internal:{port}"
    assert answers == [["127.0.0.2"]]


def test_a_redirect_is_not_followed() -> None:
    with receiver() as elsewhere, receiver() as found:
        found.status, found.headers = 301, {"location": elsewhere.url}
        assert send(found.url, LOOPBACK).status == 301
        assert elsewhere.received == []


def test_a_receiver_sets_the_pause_with_retry_after() -> None:
    with receiver() as found:
        found.status = 429
        found.headers = {"Retry-After": "120"}
        assert send(found.url, LOOPBACK) == (429, 120.0)
        found.headers = {"Retry-After": "99999999"}
        assert send(found.url, LOOPBACK) == (429, 3600.0)
        found.headers = {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}
        assert send(found.url, LOOPBACK) == (429, 0.0)


@contextmanager
def odd_server(serve: Callable[[socket.socket], object]) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                with suppress(OSError):  # the worker has left
                    serve(connection)

        thread = Thread(target=accept, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        thread.join(10)


def drip(connection: socket.socket) -> None:
    """Send a byte now and then, so that no single read takes long."""
    connection.settimeout(0.02)
    while True:
        connection.sendall(b"H")
        try:
            connection.recv(1)
        except TimeoutError:
            continue
        return


@pytest.mark.parametrize(
    ("serve", "why"),
    [
        (lambda c: c.recv(1), "did not answer within 0.3 s"),
        (drip, "did not answer within 0.3 s"),
        (lambda c: c.sendall(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 50_000), "larger than 65536"),
        (lambda c: c.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000), "10 interim responses"),
        (lambda c: c.sendall(b"SSH-2.0-OpenSSH\r\n\r\n"), "the response is not HTTP/1.1"),
        (lambda c: c.getpeername(), "closed the connection without a response"),
    ],
    ids=["hangs", "drips", "floods", "never answers", "speaks SSH", "leaves"],
)
def test_no_receiver_holds_a_worker_up(
    serve: Callable[[socket.socket], object], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request, "TIMEOUT", 0.3)
    with odd_server(serve) as url, pytest.raises(RequestFailed, match=why):
        send(url, LOOPBACK)


def test_an_interim_response_is_not_taken_for_the_answer() -> None:
    answer = b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"
    with odd_server(lambda connection: connection.sendall(answer)) as url:
        assert send(url, LOOPBACK).status == 200


def test_a_receiver_proves_its_name_by_a_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = certificate_of("hooks.internal", tmp_path)
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(certificate, key)
    trusting = ssl.create_default_context(cafile=str(certificate))

    def resolve(_host: str, port: int, **_: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with receiver() as found:
        found.server.socket = served.wrap_socket(found.server.socket, server_side=True)
        port = found.server.server_port
        right, wrong = f"https://hooks.internal:{port}/", f"https://other.internal:{port}/"
        allowed = AllowedHosts("hooks.internal,other.internal")
        assert send(right, allowed, context=trusting).status == 204
        with pytest.raises(RequestFailed, match=r"is not valid for 'other\.internal'"):
            send(wrong, allowed, context=trusting)
        with pytest.raises(RequestFailed, match="self-signed"):
            send(right, allowed)
        assert len(found.received) == 1


def certificate_of(host: str, folder: Path) -> tuple[Path, Path]:
    """Return the files of a certificate that the host signed itself, and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    certificate, private = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(Encoding.PEM))
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return certificate, private
