"""The service: targets in line, interrupts that pause, a token limit, tenants apart, a drain."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import wipe
from tests.examples.gates import Site
from tests.workers import ROOT, eventually

APP = "examples.api_automation.service:service"
ADA = {"X-Tenant": "acme", "X-User": "ada"}
BOB = {"X-Tenant": "acme", "X-User": "bob"}
EVE = {"X-Tenant": "umbrella", "X-User": "eve"}
WORDS = 10  # in every answer


class Service:
    """The service under uvicorn, and somebody who asks it."""

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
            return self.http.get("/healthz").status_code == 200
        except httpx.TransportError:
            assert self.process.poll() is None
            return False

    def call(self, target: str, urls: list[str], who: dict[str, str] = ADA) -> int:
        made = self.http.post(f"/targets/{target}/jobs/", json=urls, headers=who)
        assert made.status_code == 201, made.text
        return int(made.json()["id"])

    def job(self, target: str, job: int, who: dict[str, str] = ADA) -> Any:
        return self.http.get(f"/targets/{target}/jobs/{job}/", headers=who).json()

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


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    folder = tmp_path / "site"
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / name).write_text(" ".join([name] * WORDS))
    with Site(folder) as site:
        yield site


@pytest.fixture
def service(database: str, tmp_path: Path) -> Iterator[Service]:
    service = Service(database, tmp_path)
    yield service
    service.close()
    wipe(database)  # the tenants were made by the service


def test_an_interrupted_job_is_paused_holds_its_target_and_is_resumed(
    service: Service, site: Site
) -> None:
    urls = [f"{site.url}{name}" for name in ("a", "b", "c")]
    site.hold("/b")
    first = service.call("crm", urls)
    second = service.call("crm", urls[:1])
    eventually(site.arrived.is_set, "the second call is under way", 30)
    assert service.job("crm", first)["lease_owner"]
    assert service.http.post(f"/jobs/{first}/interrupt/", headers=BOB).status_code == 403
    assert service.http.post(f"/jobs/{first}/interrupt/", headers=ADA).status_code == 202
    paused = service.becomes("crm", first, "PAUSED")
    assert paused["message"] == "Job was interrupted by user"
    assert paused["cancel_requested"] is False
    assert len(paused["answers"]) == 1
    assert service.job("crm", second)["status"] == "BLOCKED"

    resume = f"/jobs/{first}/resume/"
    assert service.http.post(f"/targets/other{resume}", headers=ADA).status_code == 404
    assert service.http.post(f"/targets/crm{resume}", headers=EVE).status_code == 404
    site.let_go()
    assert service.http.post(f"/targets/crm{resume}", headers=ADA).status_code == 200
    assert len(service.becomes("crm", first, "SUCCESS")["answers"]) == 3
    service.becomes("crm", second, "SUCCESS")
    assert site.asked.count("/a") == 2  # once for each job: the first did not begin again
    assert service.http.post(f"/targets/crm{resume}", headers=ADA).status_code == 409


def test_a_job_that_spends_too_many_tokens_ends_in_error(service: Service, site: Site) -> None:
    exactly = service.call("crm", [f"{site.url}a"] * 10)
    site.hold("/b")  # where it is when the stop comes, however late that is
    over = service.call("erp", [*[f"{site.url}a"] * 11, f"{site.url}b"])
    service.becomes("crm", exactly, "SUCCESS")
    failed = service.becomes("erp", over, "ERROR")
    assert failed["message"].startswith("budget of 100 tokens exceeded: 110 spent")
    assert len(failed["answers"]) == 11


def test_no_tenant_sees_another(service: Service, site: Site) -> None:
    ours = service.call("crm", [f"{site.url}a"])
    theirs = service.call("crm", [f"{site.url}b"], EVE)
    service.becomes("crm", ours, "SUCCESS")
    service.becomes("crm", theirs, "SUCCESS", EVE)
    jobs = service.http.get("/api/jobs", headers=EVE).json()
    assert [job["owner"] for job in jobs] == ["eve"]
    nobody = {"X-Tenant": "default", "X-User": "eve"}
    assert service.http.get("/api/jobs", headers=nobody).status_code == 401
    assert service.http.get(f"/targets/crm/jobs/{ours}/", headers={}).status_code == 401


def test_a_service_that_shuts_down_pauses_what_does_not_end_in_time(
    database: str, tmp_path: Path, site: Site
) -> None:
    site.hold("/b")
    service = Service(database, tmp_path, SHUTDOWN_GRACE_PERIOD_SECONDS="4")
    job = service.call("crm", [f"{site.url}a", f"{site.url}b"])
    eventually(site.arrived.is_set, "the second call is under way", 30)
    service.close()
    site.let_go()
    again = Service(database, tmp_path)
    try:
        seen = again.job("crm", job)
        assert seen["status"] == "PAUSED"
        assert len(seen["answers"]) == 1
        resumed = again.http.post(f"/targets/crm/jobs/{job}/resume/", headers=ADA)
        assert resumed.status_code == 200
        again.becomes("crm", job, "SUCCESS")
    finally:
        again.close()
        wipe(database)
