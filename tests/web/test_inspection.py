"""A look into a job by request."""

from datetime import timedelta

from tenure.store.store import Store
from tests.factories import make_job, make_worker
from tests.looks import SIGHT, answering
from tests.web.http_client import Http


def test_what_is_seen_is_the_answer(ada: Http, store: Store) -> None:
    job = make_job(store, owner="ada", key="nightly")
    worker = make_worker(store, timedelta(hours=1))
    claimed = worker.claim_one()
    with answering(worker, claimed):
        answer = ada.post("/api/jobs/nightly/inspect", {"wait": "40s"})
    assert answer.status_code == 200
    seen = answer.json()
    assert (seen["job_id"], seen["asked_by"]) == (job, "ada")
    [stack] = seen["stacks"]
    assert stack["frames"] == [
        {"file": "/srv/shop.py", "line": 7, "function": "crawl", "code": "time.sleep(9)"}
    ]
    assert seen["processes"][0]["memory"] == SIGHT.processes[0].memory
    [row] = [row for row in store.audit_log("job", str(job)) if row.verb == "inspect"]
    assert (row.actor, row.via) == ("ada", "rest")


def test_who_cannot_be_seen_is_told_with_a_sentence(ada: Http, store: Store) -> None:
    job = make_job(store, owner="ada")
    answer = ada.post(f"/api/jobs/{job}/inspect", {})
    assert answer.status_code == 409
    assert answer.json()["error"]["message"] == "cannot inspect a job that is queued"
    make_worker(store, timedelta(hours=1)).claim_one()
    answer = ada.post(f"/api/jobs/{job}/inspect", {"wait": 0})
    assert (answer.status_code, answer.json()["error"]["type"]) == (504, "NotAnswered")
    assert f"the worker of job {job} has not answered" in answer.json()["error"]["message"]
    assert ada.post(f"/api/jobs/{job}/inspect", {"wait": "2h"}).status_code == 422
