"""The services on the pages of FastAPI, Litestar and Flask, each in its own server."""

import os
import re
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from standardwebhooks import Webhook
from starlette.testclient import TestClient

from tests.docs.reading import write
from tests.workers import ROOT, eventually, running_worker

HOW_TO = ROOT / "docs" / "how-to"
SERVERS = {
    "fastapi": ["-m", "uvicorn", "service:service", "--port", "0"],
    "litestar": ["-m", "uvicorn", "service:service", "--port", "0"],
    "flask": ["-m", "flask", "--app", "service:service", "run", "--port", "0"],
}


@contextmanager
def serving(folder: Path, database: str, command: list[str]) -> Iterator[str]:
    """Yield the address of the service; it ends at one Ctrl-C."""
    log = folder / "server.log"
    env = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *command],
            cwd=folder,
            env={**env, "TENURE_DATABASE_URL": database},
            stdout=output,
            stderr=output,
        )
    try:
        address = r"(?i)running on (http://127\.0\.0\.1:\d+)"
        found = eventually(lambda: re.search(address, log.read_text()), log.read_text)
        yield str(found and found[1])
        process.send_signal(signal.SIGINT)
        process.wait(15)
    finally:
        process.kill()
        process.wait()


def events(answer: httpx.Response) -> list[tuple[str, str]]:
    """Return the kind and data of the server-sent events of a whole answer."""
    return re.findall(r"event: (\w+)\r?\ndata: (.*?)\r?\n\r?\n", answer.text)


@pytest.mark.parametrize("name", SERVERS)
def test_a_service_enqueues_shows_streams_and_stops(
    name: str, database: str, tmp_path: Path
) -> None:
    write(HOW_TO / f"{name}.md", tmp_path)
    ada, eve = {"X-User": "ada"}, {"X-User": "eve"}
    with serving(tmp_path, database, SERVERS[name]) as url, httpx.Client(base_url=url) as http:
        made = http.post("/summaries", json={"text": "so it goes"}, headers=ada)
        assert made.status_code == 202, made.text
        path = f"/summaries/{made.json()['job']}"
        assert http.get(path, headers=ada).json() == {"status": "queued", "result": None}
        for refused in (http.get(path, headers=eve), http.get("/summaries/99", headers=ada)):
            assert refused.status_code == 404
        with running_worker(database, tmp_path, app=f"{tmp_path / 'tasks.py'}:app"):
            seen = events(http.get(f"{path}/stream", headers=ada, timeout=30))
            words = [data for kind, data in seen if kind == "partial"]
            assert words == ['"so"', '"it"', '"goes"']
            assert "completed" in seen[-1][1]
            assert http.get(path, headers=ada).json() == {"status": "completed", "result": 3}
            assert http.delete(path, headers=ada).status_code == 204, "it has ended already"
        other = http.post("/summaries", json={"text": "again"}, headers=ada).json()["job"]
        assert http.delete(f"/summaries/{other}", headers=ada).status_code == 204
        assert http.get(f"/summaries/{other}", headers=ada).json()["status"] == "cancelled"
        if name == "fastapi":
            assert http.get("/tenure/api/jobs").status_code == 401
            assert http.get("/tenure/healthz").json() == {"status": "ok"}


def test_the_worker_inside_a_service_runs_jobs(database: str, tmp_path: Path) -> None:
    write(HOW_TO / "fastapi.md", tmp_path)
    command = ["-m", "uvicorn", "inside:service", "--port", "0"]
    with serving(tmp_path, database, command):
        program = "from tasks import summarize; print(summarize.enqueue('a b').result('30s'))"
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={**os.environ, "TENURE_DATABASE_URL": database},
            capture_output=True,
            text=True,
        )
        assert done.stdout == "2\n", done.stderr


def test_the_receiver_takes_a_test_and_refuses_a_forgery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(HOW_TO / "webhooks.md", tmp_path)
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    monkeypatch.setenv("WEBHOOK_SECRET", secret)
    page = runpy.run_path(str(tmp_path / "receive.py"))
    body, now = '{"type": "webhook.test", "data": {"tenant": "default"}}', datetime.now(UTC)
    headers = {"webhook-id": "7", "webhook-timestamp": str(int(now.timestamp()))}
    signature = {"webhook-signature": Webhook(secret).sign("7", now, body)}
    with TestClient(page["service"]) as http:
        assert http.post("/hooks", content=body, headers=headers | signature).status_code == 204
        forged = body.replace("default", "acme")
        assert http.post("/hooks", content=forged, headers=headers | signature).status_code == 401
    assert capsys.readouterr().out == "webhook.test None\n"
