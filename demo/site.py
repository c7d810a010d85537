"""A small site on loopback that counts requests and has a page that hangs."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HANGS = 20  # the page without an answer while the site hangs
_SLOW = 0.08  # seconds per page


class Site(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.requests: Counter[str] = Counter()
        self._responding = threading.Event()

    def hang(self) -> None:
        self.requests.clear()
        self._responding.clear()

    def resume(self) -> None:
        self._responding.set()

    def wait_for(self, path: str) -> None:
        self.requests[path] += 1
        time.sleep(_SLOW)
        if path == f"/{HANGS}":
            self._responding.wait()

    def handle_error(self, *_: Any) -> None:
        """Ignore errors of clients that were stopped."""


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
        """Write no log."""


@contextmanager
def served() -> Iterator[Site]:
    with Site() as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield site
        site.resume()
        site.shutdown()
