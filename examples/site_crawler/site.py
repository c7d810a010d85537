"""A site to crawl, on this machine only: ``python -m examples.site_crawler.site``.

/list/1    ten pages of items
/slow/1    the same, but each page takes a second
/hang/1    the same, but the third page never comes
/item/1-1  one item; a script writes its title
"""

import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGES, ITEMS = 10, 5
HANG = 3600.0  # seconds


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        _, kind, name = f"{self.path}/".split("/")[:3]
        if kind == "item":
            self._answer(f"<script>document.title = 'Item ' + '{name}'</script>")
        elif kind in ("list", "slow", "hang") and name.isdigit() and 1 <= int(name) <= PAGES:
            if kind == "slow":
                time.sleep(1)
            if kind == "hang" and name == "3":
                time.sleep(HANG)
            self._answer(page(kind, int(name)))
        else:
            self.send_error(404, "try /list/1, /slow/1, /hang/1 or /item/1-1")

    def _answer(self, html: str) -> None:
        body = f"<!doctype html>\n{html}\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def page(kind: str, number: int) -> str:
    lines = [f'<a class="item" href="/item/{number}-{n}">item</a>' for n in range(1, ITEMS + 1)]
    if number < PAGES:
        lines.append(f'<a rel="next" href="/{kind}/{number + 1}">next</a>')
    return "\n".join(lines)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8765
    server = ThreadingHTTPServer(("127.0.0.1", port), Site)
    server.daemon_threads = True
    server.serve_forever()
