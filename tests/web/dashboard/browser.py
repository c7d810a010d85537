"""A real browser (Debian's Chromium, driven by Playwright) against a real server."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.workers import ROOT, eventually

CHROMIUM = shutil.which("chromium")
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
PATIENCE = 45_000  # ms
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="apt install chromium")


class Server:
    """``tenure serve`` in its own process, which can be restarted at the same address."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url, self._folder = url, folder
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def artifacts(self) -> str:
        """Its folder of artifacts, for a worker that keeps them there."""
        return str(self._folder / "tenure" / "artifacts")

    def start(self) -> None:
        log = self._folder / "serve.log"
        env = {name: text for name, text in os.environ.items() if not name.startswith("TENURE_")}
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "tenure", "serve", "tests.apps.paged:app"),
                    *("--url", self._url, "--port", str(self.port)),
                ],
                cwd=ROOT,
                env={**env, "TENURE_FOLDER": str(self._folder / "tenure")},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        line = eventually(
            lambda: [one for one in log.read_text().splitlines() if "http://" in one], "it serves"
        )[0]
        self.port = int(line.rpartition(":")[2].split()[0].rstrip("/"))
        eventually(self._answers, "it answers")

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(20)
            finally:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.address}/healthz").status_code == 200
        except httpx.TransportError:
            return False


@contextmanager
def serving(url: str, folder: Path) -> Iterator[Server]:
    server = Server(url, folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
