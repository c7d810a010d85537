"""Points where a test can hold an example and observe it."""

import os
import time
from collections.abc import Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

from examples.rag_pipeline.embedding import HashedNgrams


class Site:
    """Serve a folder as a web site. Requests are recorded; those for a held path wait."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        self.held: str | None = None
        self.arrived, self.open = Event(), Event()
        handler = partial(_Handler, directory=str(folder), site=self)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def hold(self, path: str) -> None:
        self.held = path
        self.arrived.clear()
        self.open.clear()

    def let_go(self) -> None:
        self.held = None
        self.open.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.open.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, *args: Any, site: Site, directory: str) -> None:
        self._site = site
        super().__init__(*args, directory=directory)

    def do_GET(self) -> None:
        self._site.asked.append(self.path)
        if self.path == self._site.held:
            self._site.arrived.set()
            self._site.open.wait(30)
        try:
            super().do_GET()
        except ConnectionError:  # the client has disconnected
            self.close_connection = True

    def log_message(self, *_: Any) -> None: ...


class GatedModel(HashedNgrams):
    """Record what is embedded, and wait while the file ``hold-embedding`` exists.

    The file holds the number of batches that may pass; if it is empty, none may.
    """

    _batches = 0  # batches that reached the gate

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        folder = Path(os.environ["TENURE_TEST_FOLDER"])
        with (folder / "embedded").open("a") as file:
            file.writelines(f"{text}\n" for text in texts)
        GatedModel._batches += 1
        while _is_held(folder / "hold-embedding", GatedModel._batches):
            time.sleep(0.01)
        return super().embed(texts)


def _is_held(gate: Path, batch: int) -> bool:
    try:
        return batch > int(gate.read_text() or 0)
    except FileNotFoundError:
        return False
