"""The service: targets in line, cancels that pause, a token limit, tenants apart, a drain."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
from examples.api_automation.server.routes.jobs import JobStatus, JobView

from tenure import Job
from tenure.domain.lifecycle import State, Status
from tests.conftest import wipe
from tests.examples.api_service import ADA, BOB, EVE, Service
from tests.examples.gates import Site
from tests.workers import eventually

WORDS = 10  # in every answer
SHAPE = {
    *("id", "target", "status", "lease_owner", "lease_expires_at"),
    *("cancel_requested", "message", "answers"),
}


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


def test_a_cancelled_job_is_paused_holds_its_target_and_is_resumed(
    service: Service, site: Site
) -> None:
    urls = [f"{site.url}{name}" for name in ("a", "b", "c")]
    site.hold("/b")
    first = service.call("crm", urls)
    second = service.call("crm", urls[:1])
    eventually(site.arrived.is_set, "the second call is under way", 30)
    assert service.job("crm", first)["lease_owner"]
    assert service.post("crm", first, "cancel", BOB).status_code == 403
    assert service.post("crm", first, "cancel").status_code == 200
    paused = service.becomes("crm", first, "PAUSED")
    assert paused["message"] == "Job was interrupted by user"
    assert paused["cancel_requested"] is False
    assert (paused["lease_owner"], paused["lease_expires_at"]) == (None, None)
    assert len(paused["answers"]) == 1
    assert service.job("crm", second)["status"] == "QUEUED"

    assert service.post("other", first, "resume").status_code == 404
    assert service.post("crm", first, "resume", EVE).status_code == 404
    site.let_go()
    resumed = service.post("crm", first, "resume")
    assert (resumed.status_code, resumed.json()["status"]) == (200, "QUEUED")
    assert len(service.becomes("crm", first, "SUCCESS")["answers"]) == 3
    service.becomes("crm", second, "SUCCESS")
    assert site.asked.count("/a") == 2  # once for each job: the first did not begin again
    assert service.post("crm", first, "resume").status_code == 409


def test_a_paused_or_failed_job_is_cleared_and_its_target_continues(
    service: Service, site: Site
) -> None:
    site.hold("/b")
    paused = service.call("crm", [f"{site.url}b"])
    eventually(site.arrived.is_set, "the call is under way", 30)
    service.post("crm", paused, "cancel")
    service.becomes("crm", paused, "PAUSED")
    failed = service.call("erp", ["http://127.0.0.1:9/nobody-listens-here"])
    assert service.becomes("erp", failed, "ERROR")["message"] == "All connection attempts failed"
    waiting = {target: service.call(target, [f"{site.url}a"]) for target in ("crm", "erp")}
    assert service.job("crm", waiting["crm"])["status"] == "QUEUED"
    for target, job in (("crm", paused), ("erp", failed)):
        cleared = service.post(target, job, "clear")
        assert (cleared.status_code, cleared.json()["status"]) == (200, "CANCELED")
        service.becomes(target, waiting[target], "SUCCESS")


def test_a_job_that_spends_too_many_tokens_ends_in_error(service: Service, site: Site) -> None:
    exactly = service.call("crm", [f"{site.url}a"] * 10)
    site.hold("/b")  # where it is when the stop comes, however late that is
    over = service.call("erp", [*[f"{site.url}a"] * 11, f"{site.url}b"])
    service.becomes("crm", exactly, "SUCCESS")
    failed = service.becomes("erp", over, "ERROR")
    assert failed["message"].startswith("budget of 100 tokens exceeded: 110 spent")
    assert failed["cancel_requested"] is False
    assert len(failed["answers"]) == 11


def test_no_tenant_sees_another(service: Service, site: Site) -> None:
    ours = service.call("crm", [f"{site.url}a"])
    theirs = service.call("crm", [f"{site.url}b"], EVE)
    service.becomes("crm", ours, "SUCCESS")
    service.becomes("crm", theirs, "SUCCESS", EVE)
    [seen] = service.http.get("/targets/crm/jobs/", headers=EVE).json()
    assert seen["answers"] == [" ".join(["b"] * WORDS)]
    nobody = {"X-Tenant": "default", "X-User": "eve"}
    assert service.http.get("/targets/crm/jobs/", headers=nobody).status_code == 401
    assert service.http.get(f"/targets/crm/jobs/{ours}/", headers={}).status_code == 401


def test_every_path_answers_with_one_shape_and_every_refusal_with_another(
    service: Service, site: Site
) -> None:
    path = "/targets/crm/jobs/"
    made = service.http.post(path, json=["http://127.0.0.1:9/nobody"], headers=ADA).json()
    job = made["id"]
    service.becomes("crm", job, "ERROR")
    [listed] = service.http.get(path, headers=ADA).json()
    answers = [made, listed, service.job("crm", job), service.post("crm", job, "resume").json()]
    service.becomes("crm", job, "ERROR")
    answers.append(service.post("crm", job, "clear").json())
    site.hold("/b")
    held = service.http.post(path, json=[f"{site.url}b"], headers=ADA).json()["id"]
    answers.append(service.post("crm", held, "cancel").json())
    assert [set(answer) for answer in answers] == [SHAPE] * 6
    assert {answer["status"] for answer in answers} <= set(JobStatus)
    assert answers[3]["status"] == "QUEUED"  # resumed from ERROR

    refusals = [
        service.http.post(path, json="not a list", headers=ADA),
        service.http.get(f"{path}none/", headers=ADA),
        service.http.get(f"{path}4711/", headers=ADA),
        service.http.get(path),
        service.post("erp", job, "resume"),
        service.http.get("/nowhere/"),
    ]
    assert [answer.status_code for answer in refusals] == [422, 422, 404, 401, 404, 404]
    for answer in refusals:
        assert set(answer.json()) == {"detail"}
        assert isinstance(answer.json()["detail"], str)
    assert "body: Input should be a valid list" in refusals[0].text


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
        assert (seen["status"], seen["message"]) == ("PAUSED", "Job was interrupted by user")
        assert len(seen["answers"]) == 1
        assert again.post("crm", job, "resume").status_code == 200
        again.becomes("crm", job, "SUCCESS")
    finally:
        again.close()
        wipe(database)


def test_a_job_whose_worker_dies_ends_in_error_and_can_be_resumed(
    database: str, tmp_path: Path, site: Site, service: Service
) -> None:
    site.hold("/b")
    job = service.call("crm", [f"{site.url}a", f"{site.url}b"])
    eventually(site.arrived.is_set, "the second call is under way", 30)
    other = Service(database, tmp_path)
    try:
        for process in psutil.Process(service.process.pid).children(recursive=True):
            process.kill()
        failed = other.becomes("crm", job, "ERROR")
        assert failed["message"].startswith("orphan:")
        assert failed["lease_owner"] is None
        site.let_go()
        assert other.post("crm", job, "resume").json()["status"] == "QUEUED"
        assert len(other.becomes("crm", job, "SUCCESS")["answers"]) == 2
        assert site.asked.count("/a") == 1
    finally:
        other.close()


@pytest.mark.parametrize("state", State)
def test_every_state_and_status_is_one_of_the_seven_words(state: State) -> None:
    for status in Status:
        job: Any = msgspec.structs.replace(JOB, state=state, status=status)
        shown = JobView.of(job).model_dump(mode="json")
        assert shown["status"] in {
            *("PENDING", "QUEUED", "RUNNING", "PAUSED", "ERROR", "SUCCESS", "CANCELED"),
        }


JOB = Job(
    **{
        **dict.fromkeys(name for name in Job.__struct_fields__ if name not in ("id", "target")),
        "id": 1,
        "target": "crm",
        "created_at": datetime(2030, 1, 1, tzinfo=UTC),
        "cancel_requested": False,
    }  # type: ignore[arg-type]
)
