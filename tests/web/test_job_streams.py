"""The stream of a job over REST, and from a route of somebody's own."""

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from starlette.responses import Response

from tenure.control.client import Client
from tenure.control.handle import Handle
from tenure.control.hub import _hubs
from tenure.domain.principal import Role
from tenure.domain.tenant import DEFAULT
from tenure.store.outcomes import LogLine, Report
from tenure.store.results import Claimed
from tenure.store.store import Store
from tenure.web import create_app, stream_response, streams
from tests.factories import Worker, make_job, make_worker
from tests.web.conftest import Bearer
from tests.web.served import Told, events, served
from tests.workers import eventually


@pytest.fixture
def service(client: Client) -> Iterator[str]:
    """The API, and next to it a route that lets everybody read."""
    app = create_app(client)
    own = FastAPI()

    @own.get("/chats/{job}")
    async def chat(job: int, request: Request, after: int = 0) -> Response:
        return stream_response(Handle[Any](client, job, DEFAULT), request, after=after)

    own.mount("/jobs", app)
    with served(own) as url:
        yield url


@pytest.fixture
def api(service: str, bearer: Bearer) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=f"{service}/jobs", headers=bearer("vic", Role.VIEWER), timeout=20
    ) as api:
        yield api


def running(store: Store) -> tuple[Worker, Claimed]:
    make_job(store)
    worker = make_worker(store)
    return worker, worker.claim_one()


def report(worker: Worker, job: Claimed, **told: Any) -> None:
    worker.store.report(worker.id, [Report(job=job.id, token=job.token, **told)])


def read(answer: httpx.Response) -> list[tuple[str, Any]]:
    assert answer.status_code == 200, answer.read()
    return [(told.kind, told.data) for told in events(answer) if isinstance(told, Told)]


def test_a_stream_ends_with_the_job_and_continues_after_the_last_event(
    api: httpx.Client, store: Store
) -> None:
    worker, job = running(store)
    report(worker, job, partials=[{"token": "a"}])
    with api.stream("GET", f"/api/jobs/{job.id}/stream") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        told = (each for each in events(answer) if isinstance(each, Told))
        first = next(told)
        assert (first.kind, first.data) == ("partial", {"token": "a"})
        assert next(told).data["status"] == "running"
        report(worker, job, logs=[LogLine("hello", "warning")])
        log = next(told)
        assert (log.kind, log.data) == ("log", {"level": "warning", "line": "hello"})
    report(worker, job, partials=["b"])
    worker.finish(job)
    again = {"last-event-id": log.id}
    with api.stream("GET", f"/api/jobs/{job.id}/stream", headers=again) as answer:
        rest = [each for each in events(answer) if isinstance(each, Told)]
    assert [(each.kind, each.data) for each in rest] == [
        ("partial", "b"),
        ("status", {"status": "completed", "attempt": 1, "reason": None}),
    ]
    over = api.get(f"/api/jobs/{job.id}/stream", headers={"last-event-id": rest[-1].id})
    assert (over.status_code, over.content) == (204, b"")
    number = int(first.id.partition(".")[0])
    with api.stream("GET", f"/api/jobs/{job.id}/stream", params={"after": number}) as answer:
        assert [kind for kind, _ in read(answer)] == ["log", "partial", "status"]


def test_what_is_no_stream_is_refused(api: httpx.Client, store: Store) -> None:
    _, job = running(store)
    assert api.get("/api/jobs/4711/stream").status_code == 404
    for after in ("x", "999999", "1.2"):
        answer = api.get(f"/api/jobs/{job.id}/stream", params={"after": after})
        assert answer.status_code in (400, 422), after


def test_a_reader_of_another_tenant_sees_no_job(
    service: str, client: Client, bearer: Bearer, store: Store
) -> None:
    worker, job = running(store)
    report(worker, job, partials=["secret"])
    client.create_tenant("other")
    theirs = bearer("eve", Role.ADMIN, "other")
    answer = httpx.get(f"{service}/jobs/api/jobs/{job.id}/stream", headers=theirs)
    assert (answer.status_code, "secret" in answer.text) == (404, False)
    assert httpx.get(f"{service}/jobs/api/jobs/{job.id}/stream").status_code == 401


def test_a_route_of_your_own_streams_a_job(service: str, store: Store) -> None:
    worker, job = running(store)
    report(worker, job, partials=["a", "b"])
    worker.finish(job)
    with httpx.stream("GET", f"{service}/chats/{job.id}") as answer:
        assert [data for kind, data in read(answer) if kind == "partial"] == ["a", "b"]
    first = store.job_output(job.id, "partials")[0]["id"]
    for known in ({"params": {"after": first}}, {"headers": {"last-event-id": str(first)}}):
        with httpx.stream("GET", f"{service}/chats/{job.id}", **known) as answer:
            assert [data for kind, data in read(answer) if kind == "partial"] == ["b"]
    assert httpx.get(f"{service}/chats/4711").status_code == 404
    refused = httpx.get(f"{service}/chats/{job.id}", headers={"last-event-id": "x"})
    assert (refused.status_code, "the id of an item" in refused.json()["detail"]) == (400, True)
    refused = httpx.get(f"{service}/chats/{job.id}", params={"after": 999999})
    assert (refused.status_code, "no output" in refused.json()["detail"]) == (400, True)


def test_a_reader_that_takes_nothing_holds_up_nobody_and_misses_nothing(
    service: str, store: Store
) -> None:
    worker, job = running(store)
    url = httpx.URL(service)
    with socket.create_connection((url.host, url.port or 80)) as slow:
        slow.sendall(f"GET /chats/{job.id} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        for number in range(200):
            report(worker, job, partials=[f"{number} {'x' * 50_000}"])
        with httpx.stream("GET", f"{service}/chats/{job.id}", timeout=20) as quick:
            told = (each for each in events(quick) if isinstance(each, Told))
            for number in range(200):
                assert next(told).data.startswith(f"{number} ")
        worker.finish(job)
        text = b""
        slow.settimeout(20)
        while not text.endswith(b"\r\n0\r\n\r\n") and (more := slow.recv(1 << 20)):
            text += more
    assert text.count(b"event: partial") == 200
    assert text.count(b'"completed"') == 1


def test_many_readers_get_every_value_once_and_share_the_encoded_bytes(
    service: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than are woken together, one of which leaves on the way."""
    encoded: list[str] = []
    encode = streams.encode_event

    def counted(item: Any) -> bytes:
        encoded.append(item.id)
        return encode(item)

    monkeypatch.setattr(streams, "encode_event", counted)
    worker, job = running(store)
    url = httpx.URL(service)
    request = f"GET /chats/{job.id} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()
    with ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_connection((url.host, url.port or 80), 20))
            for _ in range(120)
        ]
        for each in sockets:
            each.sendall(request)
        texts = [_until(each, b"event: status") for each in sockets]
        for value in range(20):
            report(worker, job, partials=[value])
            if value == 10:
                sockets.pop().close()
        worker.finish(job)
        texts = [
            text + _until(each, b"\r\n0\r\n\r\n")
            for text, each in zip(texts, sockets, strict=False)
        ]
    for text in texts:
        assert re.findall(rb"event: partial\ndata: ([0-9]+)\n", text) == [
            b"%d" % n for n in range(20)
        ]
        assert text.count(b'"completed"') == 1
    assert len(encoded) < 100, "once for all readers that are equally far"


def _until(connection: socket.socket, end: bytes) -> bytes:
    text = b""
    while end not in text:
        more = connection.recv(1 << 16)
        assert more, text
        text += more
    return text


def test_a_reader_that_leaves_is_forgotten(service: str, client: Client, store: Store) -> None:
    _, job = running(store)
    with httpx.stream("GET", f"{service}/chats/{job.id}") as answer:
        told = events(answer)  # kept: without it, the connection is closed
        next(told)
        assert readers()
    eventually(lambda: not readers(), "nobody reads any more")


def readers() -> int:
    return sum(len(hub._subscribers) for hubs in _hubs.values() for hub in hubs.values())
