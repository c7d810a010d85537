"""``tenure serve`` as a process of its own, seen from outside."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.workers import ROOT, eventually

SERVING = "serving on "


class Serving:
    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.process = process
        self._log = log

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def url(self) -> str:
        eventually(lambda: SERVING in self.log, f"{SERVING!r} in:\n{self.log}")
        return str(re.findall(rf"{SERVING}(http://[0-9.:]+)", self.log)[0])

    def leaves(self, number: signal.Signals = signal.SIGTERM) -> int:
        os.kill(self.process.pid, number)
        return self.process.wait(20)


@contextmanager
def serving(url: str, folder: Path, *words: str, **settings: str) -> Iterator[Serving]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    log = folder / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tenure", "serve", "--port", "0", *words],
            cwd=ROOT,
            env={**ours, "TENURE_DATABASE_URL": url, **_variables(settings)},
            stdout=output,
            stderr=output,
        )
    try:
        yield Serving(process, log)
    finally:
        process.kill()
        process.wait()


def _variables(settings: dict[str, str]) -> dict[str, str]:
    return {f"TENURE_{name.upper()}": value for name, value in settings.items()}
