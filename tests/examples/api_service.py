"""The service of the API automation under uvicorn, and somebody who asks it."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx

from tests.workers import ROOT, eventually

APP = "examples.api_automation.server.server:server"
ADA = {"X-Tenant": "acme", "X-User": "ada"}
BOB = {"X-Tenant": "acme", "X-User": "bob"}
EVE = {"X-Tenant": "umbrella", "X-User": "eve"}


class Service:
    def __init__(self, url: str, folder: Path, **settings: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        env = {name: value for name, value in os.environ.items() if "TENURE" not in name}
        self._log = (folder / f"service-{port}.log").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", APP, "--port", str(port)],
            cwd=ROOT,
            env={**env, "TENURE_DATABASE_URL": url, "TOKEN_LIMIT": "100", **settings},
            stdout=self._log,
            stderr=self._log,
        )
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20)
        eventually(self._answers, "the service answers", 60)

    def _answers(self) -> bool:
        try:
            return self.http.get("/demo/1").status_code == 200
        except httpx.TransportError:
            assert self.process.poll() is None
            return False

    def call(self, target: str, urls: list[str], who: dict[str, str] = ADA) -> int:
        made = self.http.post(f"/targets/{target}/jobs/", json=urls, headers=who)
        assert made.status_code == 201, made.text
        return int(made.json()["id"])

    def job(self, target: str, job: int, who: dict[str, str] = ADA) -> Any:
        return self.http.get(f"/targets/{target}/jobs/{job}/", headers=who).json()

    def post(self, target: str, job: int, verb: str, who: dict[str, str] = ADA) -> httpx.Response:
        return self.http.post(f"/targets/{target}/jobs/{job}/{verb}/", headers=who)

    def becomes(self, target: str, job: int, status: str, who: dict[str, str] = ADA) -> Any:
        return eventually(
            lambda: (seen := self.job(target, job, who))["status"] == status and seen,
            f"job {job} becomes {status}",
            30,
        )

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.http.close()
        self._log.close()
