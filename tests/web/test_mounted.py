"""The API under a path of another app: nobody tells it when it begins, and a worker is inside."""

from collections.abc import Iterator

import httpx
import pytest

from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.apps import mounting
from tests.web.served import Told, events, served
from tests.workers import Watcher


@pytest.fixture
def service(database: str) -> Iterator[httpx.Client]:
    mounting.jobs._url = database
    with served(mounting.service) as url, httpx.Client(base_url=url, timeout=60) as service:
        yield service
    mounting.jobs._url = None


def test_jobs_run_and_stop_within_a_service(service: httpx.Client, store: Store) -> None:
    assert service.get("/hello").status_code == 200
    assert service.get("/api/jobs").status_code == 404
    made = service.post(
        "/jobs/api/jobs", json={"task": "tests.apps.mounting.double", "args": {"n": 21}}
    )
    assert made.headers["location"] == f"/jobs/api/jobs/{made.json()['id']}"
    with service.stream("GET", f"{made.headers['location']}/events") as answer:
        *_, last = (told for told in events(answer) if isinstance(told, Told))
    assert (last.data["status"], last.data["result"]) == ("completed", 42)

    job = service.post("/jobs/api/jobs", json={"task": "tests.apps.mounting.sleeps"}).json()["id"]
    Watcher(store).becomes(job, State.RUNNING)
    cancelled = service.post(f"/jobs/api/jobs/{job}/cancel", json={"reason": "enough"})
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "completed")

    page = service.get("/jobs/api/jobs?limit=1")
    assert page.headers["link"].startswith("</jobs/api/jobs?limit=1&below=")
    assert [
        one["id"] for one in service.get(page.headers["link"][1:].partition(">")[0]).json()
    ] == [made.json()["id"]]
    for path in ("/jobs/healthz", "/jobs/readyz"):
        assert service.get(path).json() == {"status": "ok"}
    wrong = service.post("/jobs/api/jobs", json={"task": "tests.apps.mounting.double"})
    assert "cannot take these arguments" in wrong.json()["error"]["message"]
    assert service.get("/jobs/nothing").json()["error"]["type"] == "NotFound"
    assert service.get("/jobs").status_code in (307, 401, 404)
    told = service.get("/jobs/openapi.json").json()
    assert told["servers"] == [{"url": "/jobs"}]
    assert store.show(job).owner == "anonymous"
