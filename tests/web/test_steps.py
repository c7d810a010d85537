"""Steps, questions and events over REST."""

from tenure.store.store import Store
from tests.store.test_steps import keep, running, step, waiting
from tests.web.http_client import Http


def test_a_question_is_listed_checked_and_answered_once(ada: Http, store: Store) -> None:
    _, job = waiting(store, "question", owner="ada")
    [question] = ada.get("/api/questions").json()
    assert (question["job_id"], question["text"]) == (job, "Well?")
    assert ada.get(f"/api/jobs/{job}/questions").json() == [question]
    wrong = ada.post(f"/api/jobs/{job}/answer", {"value": 3})
    assert (wrong.status_code, "it takes an object" in wrong.text) == (422, True)
    body = {"value": {"ok": True}, "question": question["id"]}
    assert ada.post(f"/api/jobs/{job}/answer", body).json()["answered_by"] == "ada"
    again = ada.post(f"/api/jobs/{job}/answer", body)
    assert (again.status_code, "was answered by ada" in again.text) == (409, True)


def test_only_who_may_answers(ada: Http, viewer: Http, store: Store) -> None:
    _, job = waiting(store, "question", owner="ben")
    for caller in (ada, viewer):
        assert caller.post(f"/api/jobs/{job}/answer", {"value": {}}).status_code == 403


def test_steps_are_listed_and_a_rerun_takes_those_before_one(ada: Http, store: Store) -> None:
    worker, job = running(store, owner="ada")
    keep(worker, job, step("plan"), step("draft"))
    names = [each["name"] for each in ada.get(f"/api/jobs/{job.id}/steps").json()]
    assert names == ["plan", "draft"]
    body = {"from_step": "draft", "steps": {"plan": 2}}
    made = ada.post(f"/api/jobs/{job.id}/rerun", body)
    assert made.status_code == 201
    [kept] = ada.get(f"/api/jobs/{made.json()['id']}/steps").json()
    assert (kept["name"], kept["value"]) == ("plan", 2)
    assert ada.get("/api/jobs/999/steps").status_code == 404


def test_an_event_is_published(ada: Http, viewer: Http, store: Store) -> None:
    _, job = waiting(store, "event", owner="ada")
    body = {"name": "paid", "key": "7", "payload": {"sum": 5}}
    assert viewer.post("/api/published", body).status_code == 403
    assert ada.post("/api/published", body).status_code == 201
    store.promote()
    assert store.show(job).waiting is None
