"""A receiver of webhooks on loopback: it keeps what it gets and answers as it is told."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from standardwebhooks import Webhook as Verifier


class Received(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes

    def verify(self, secret: str) -> dict[str, object]:
        """Return the event, checked by the reference implementation of the scheme."""
        event: dict[str, object] = Verifier(secret).verify(self.body, self.headers)
        return event


class Receiver:
    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.server = server
        self.url = f"http://127.0.0.1:{server.server_port}/in?a=b"
        self.received: list[Received] = []
        self.status = 204
        self.headers: dict[str, str] = {}
        self.hold: threading.Event | None = None  # answers wait for it
        self.held: str | None = None  # only those to events of this type

    def events(self, job: int | None = None) -> list[str]:
        """Return the types of what was received, of all jobs or of one."""
        events = [json.loads(each.body) for each in self.received]
        return [e["type"] for e in events if job is None or e["data"]["job_id"] == job]


@contextmanager
def receiver() -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            found.received.append(Received(self.path, headers, body))
            if found.hold is not None and found.held in (None, json.loads(body)["type"]):
                found.hold.wait(60)
            self.send_response(found.status)
            for name, value in found.headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

    server = Server(("127.0.0.1", 0), Handler)
    found = Receiver(server)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield found
    finally:
        if found.hold is not None:
            found.hold.set()
        server.shutdown()
        server.server_close()
        thread.join()
