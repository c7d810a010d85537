"""A small site on loopback, which remembers who asked for what, and has a page that hangs."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HANGS = 20  # the page that is not answered as long as the site hangs
_SLOW = 0.08  # seconds for a page


class Site(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.asked: Counter[str] = Counter()
        self._answers = threading.Event()

    def hang(self) -> None:
        self.asked.clear()
        self._answers.clear()

    def go_on(self) -> None:
        self._answers.set()

    def wait_for(self, path: str) -> None:
        self.asked[path] += 1
        time.sleep(_SLOW)
        if path == f"/{HANGS}":
            self._answers.wait()

    def handle_error(self, *_: Any) -> None:
        """Nothing: somebody who was stopped reads no more."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Site

    def do_GET(self) -> None:
        self.server.wait_for(self.path)
        text = b"a page has words " * (len(self.path) + 1)
        self.send_response(200)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Nothing: the demo says what it wants to say."""


@contextmanager
def served() -> Iterator[Site]:
    with Site() as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield site
        site.go_on()
        site.shutdown()
