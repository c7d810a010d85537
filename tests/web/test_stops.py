"""Stops by request, and all that may come between: ended jobs, repetition, time, phases."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from tenure.control.client import Client
from tenure.domain.cancellation import CancellationRecord, CancellationResult
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, Rung, State
from tenure.domain.principal import Role
from tenure.store.outcomes import Artifact, Report
from tenure.store.results import Claimed
from tenure.store.store import Store
from tenure.web import create_app
from tests.factories import (
    Worker,
    end_as_stopped,
    make_job,
    make_job_in,
    make_jobs,
    make_worker,
    promote,
)
from tests.web.conftest import Bearer
from tests.web.http_client import Http, asking, problem
from tests.workers import eventually


@contextmanager
def ending(worker: Worker, *jobs: Claimed) -> Iterator[None]:
    """A worker that ends its jobs as soon as somebody asks it to."""

    def work() -> None:
        for job in jobs:
            eventually(lambda job=job: worker.store.show(job.id).cancel_requested)  # type: ignore[misc]
            # A stop that is asked for again just now has the job locked.
            eventually(lambda job=job: end_as_stopped(worker, job).accepted)  # type: ignore[misc]
        worker.store.promote()

    working = threading.Thread(target=work)
    working.start()
    yield
    working.join()


def records(store: Store) -> tuple[CancellationRecord, ...]:
    return store.cancellations()


def test_a_cancel_waits_and_answers_with_its_result(admin: Http, store: Store) -> None:
    job, worker = make_job(store), make_worker(store)
    with ending(worker, worker.claim_one()):
        answer = admin.post(f"/api/jobs/{job}/cancel", {"reason": "enough"})
    assert answer.status_code == 200
    result = answer.json()
    assert result.keys() == set(CancellationResult.__struct_fields__)
    assert (result["success"], result["status"], result["job_id"]) == (True, "completed", job)
    assert (result["job_became"], result["tasks_cancelled"]) == ("cancelled", [])
    assert [(one["job_id"], one["rung"]) for one in result["members"]] == [(job, "interrupted")]
    [record] = records(store)
    assert (record.initiated_by, record.reason) == ("root", "enough")
    assert store.audit_log("job", str(job))[0].via == "rest"


def test_a_cancel_that_takes_longer_is_accepted_and_can_be_followed(
    admin: Http, store: Store
) -> None:
    job, worker = make_job(store), make_worker(store)
    claimed = worker.claim_one()
    answer = admin.post(f"/api/jobs/{job}/cancel", {"wait": "50ms", "grace": "20s"})
    assert answer.status_code == 202
    record = answer.json()
    assert record.keys() == set(CancellationRecord.__struct_fields__)
    assert (record["status"], record["job_became"], record["grace"]) == (
        "stopping_runners",
        None,
        20.0,
    )
    status = admin.get(f"/api/jobs/{job}/cancellation-status").json()
    assert (status["status"], status["cancellation_id"]) == (
        "stopping_runners",
        record["cancellation_id"],
    )
    end_as_stopped(worker, claimed)
    store.promote()
    assert admin.get(answer.headers["location"]).json()["status"] == "completed"
    assert admin.get(f"/api/jobs/{job}/cancellation-status").json()["status"] == "completed"


def test_asked_again_it_is_the_same_cancellation(admin: Http, store: Store) -> None:
    job, worker = make_job(store), make_worker(store)
    claimed = worker.claim_one()
    cancel = f"/api/jobs/{job}/cancel"
    first = admin.post(cancel, {"wait": 0}).json()
    again = admin.post(cancel, {"wait": 0, "force": True}).json()
    assert again["cancellation_id"] == first["cancellation_id"]
    assert (again["again"], again["force"]) == (True, True)
    end_as_stopped(worker, claimed, Rung.KILLED)
    store.promote()
    late = admin.post(cancel)
    assert (late.status_code, late.json()["cancellation_id"]) == (200, first["cancellation_id"])
    assert len(records(store)) == 1


def test_an_app_may_be_used_in_one_event_loop_after_another(
    client: Client, store: Store, bearer: Bearer
) -> None:
    app, headers = create_app(client), bearer("root", Role.ADMIN)
    for _ in range(2):
        job, worker = make_job(store), make_worker(store)
        with asking(app, lifespan=False) as http, ending(worker, worker.claim_one()):
            answer = http.post(f"/api/jobs/{job}/cancel", headers=headers)
            http.run(client.aclose())
        assert answer.status_code == 200


def test_many_at_once_are_one_cancellation(admin: Http, store: Store) -> None:
    job, worker = make_job(store), make_worker(store)
    with ending(worker, worker.claim_one()):
        answers = admin.together(*[("POST", f"/api/jobs/{job}/cancel", {})] * 5)
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["cancellation_id"] for answer in answers}) == 1
    assert len(records(store)) == 1


def test_what_has_ended_cannot_be_cancelled_and_is_not_on_record(admin: Http, store: Store) -> None:
    for state in (State.COMPLETED, State.FAILED):
        job = make_job_in(store, state, max_attempts=1)
        refused = problem(admin.post(f"/api/jobs/{job}/cancel"))
        assert refused == (409, "IllegalTransition", f"cannot cancel a job that is {state}")
        assert problem(admin.get(f"/api/jobs/{job}/cancellation-status"))[0] == 404
    assert problem(admin.post("/api/jobs/99/cancel"))[:2] == (404, "JobNotFound")
    assert problem(admin.post("/api/tasks/99/cancel"))[:2] == (404, "JobNotFound")
    assert problem(admin.post(f"/api/jobs/{1 << 64}/cancel"))[:2] == (404, "JobNotFound")
    assert records(store) == ()


def test_a_cancel_before_any_runner_is_active_ends_at_once(admin: Http, store: Store) -> None:
    ids = make_jobs(
        store, [NewJob(key="whole"), *(NewJob(task="t", parent="whole") for _ in range(3))]
    )
    result = admin.post("/api/jobs/whole/cancel").json()
    assert (result["success"], result["runners_terminated"]) == (True, [])
    assert len(result["tasks_cancelled"]) == 3
    assert store.show(ids["whole"]).state is State.CANCELLED


def test_tasks_that_had_completed_stay_so(admin: Http, store: Store) -> None:
    ids = make_jobs(
        store,
        [NewJob(key="whole"), NewJob(key="a", task="t", parent="whole"),
         NewJob(key="b", task="t", parent="whole", after=["a"])],
    )  # fmt: skip
    worker = make_worker(store)
    worker.finish(worker.claim_one())
    result = admin.post(f"/api/jobs/{ids['whole']}/cancel").json()
    assert result["tasks_completed"] == [ids["a"]]
    assert result["tasks_cancelled"] == [ids["b"]]


def test_a_job_whose_tasks_have_all_completed_cannot_be_cancelled(
    admin: Http, store: Store
) -> None:
    ids = make_jobs(store, [NewJob(key="whole"), NewJob(key="a", task="t", parent="whole")])
    worker = make_worker(store)
    worker.finish(worker.claim_one())
    promote(store)
    assert problem(admin.post(f"/api/jobs/{ids['whole']}/cancel"))[0] == 409


def test_one_task_is_cancelled_with_or_without_what_comes_after_it(
    admin: Http, store: Store
) -> None:
    for cascade, left in ((True, State.CANCELLED), (False, State.PENDING)):
        ids = make_jobs(
            store,
            [NewJob(key="w"), NewJob(key="a", task="t", parent="w"),
             NewJob(key="b", task="t", parent="w", after=["a"])],
        )  # fmt: skip
        answer = admin.post(f"/api/tasks/{ids['a']}/cancel", {"cascade": cascade, "reason": "no"})
        assert answer.status_code == 200
        assert (store.show(ids["a"]).state, store.show(ids["b"]).state) == (State.CANCELLED, left)
        store.stop(ids["w"])


def test_what_could_not_be_confirmed_is_partial_and_named(admin: Http, store: Store) -> None:
    job, worker = make_job(store), make_worker(store)
    claimed = worker.claim_one()
    record = admin.post(f"/api/jobs/{job}/cancel", {"wait": 0}).json()
    store.close_record(record["cancellation_id"], "partial", error="process 7 cannot be killed")
    seen = admin.get(f"/api/cancellations/{record['cancellation_id']}").json()
    assert (seen["status"], seen["success"]) == ("partial", False)
    assert "process 7 cannot be killed" in str(seen["errors"]) + str(seen["error"])
    end_as_stopped(worker, claimed)


def test_artifacts_and_slots_are_in_the_result(admin: Http, store: Store) -> None:
    store.create_pool("trees", ["oak"])
    job, worker = make_job(store, pools=["trees"]), make_worker(store)
    claimed = worker.claim_one()
    kept = [Artifact("report.csv", "file:///x/report.csv", 3)]
    store.report(worker.id, [Report(job=job, token=claimed.token, artifacts=kept)])
    with ending(worker, claimed):
        result = admin.post(f"/api/jobs/{job}/cancel").json()
    assert result["slots_released"] == ["trees/oak"]
    assert result["artifacts_preserved"] == [f"{job}/report.csv"]


def test_a_strategy_says_what_the_request_does_not(admin: Http, store: Store) -> None:
    job, worker = make_job(store), make_worker(store)
    worker.claim_one()
    made = admin.put("/api/strategies/gentle", {"grace": "1m", "cascade": False})
    assert made.json()["options"] == {"grace": 60, "cascade": False}
    record = admin.post(
        f"/api/jobs/{job}/cancel", {"strategy": "gentle", "ask_for": 5, "wait": 0}
    ).json()
    assert (record["grace"], record["cascade"], record["ask_for"]) == (60.0, False, 5.0)
    assert admin.delete("/api/strategies/gentle").json() == {"dropped": "gentle"}
    assert problem(admin.delete("/api/strategies/gentle"))[0] == 404
    other = make_job(store)
    assert problem(admin.post(f"/api/jobs/{other}/cancel", {"strategy": "gentle"}))[0] == 404


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"wait": "61s"}, "wait: the maximum is 1m"),
        ({"wait": -1}, "cannot be negative"),
        ({"wait": "long"}, "'long' is not a duration"),
        ({"grace": "-1s"}, "grace:"),
        ({"last_rung": "expired"}, "last_rung"),
        ({"force": "yes"}, "Expected `bool"),
        ({"reason": ""}, "the reason of a stop is empty"),
        ({"reason": "\0"}, "NUL"),
        ({"grace": 1e300}, "not a length of time that can be counted"),
        ({"force": True, "last_rung": "asked"}, "a forced one kills"),
        ({"rollback_tasks": [1 << 70]}, ""),
    ],
)
def test_a_stop_that_cannot_be_is_refused_and_changes_nothing(
    admin: Http, store: Store, body: object, why: str
) -> None:
    job = make_job(store)
    code, _, message = problem(admin.post(f"/api/jobs/{job}/cancel", body))
    assert code == 422, message
    assert why in message
    assert (store.show(job).state, records(store)) == (State.PENDING, ())


def test_a_pause_and_a_resume(admin: Http, store: Store) -> None:
    job, worker = make_job(store), make_worker(store)
    with ending(worker, worker.claim_one()):
        answer = admin.post(f"/api/jobs/{job}/pause", {"reason": "lunch"})
    assert (answer.status_code, store.show(job).state) == (200, State.PAUSED)
    assert problem(admin.post(f"/api/jobs/{job}/pause"))[:2] == (409, "IllegalTransition")
    assert problem(admin.post(f"/api/jobs/{job}/pause", {"cascade": True}))[0] == 422
    assert admin.post(f"/api/jobs/{job}/resume").json()["state"] == "pending"


def test_a_resume_by_target_wants_the_right_target_and_the_right_state(
    admin: Http, store: Store
) -> None:
    job = make_job(store, target="repo/main")
    store.stop(job, intent=Intent.PAUSE)
    assert problem(admin.post(f"/targets/repo/jobs/{job}/resume/"))[0] == 404
    assert problem(admin.post("/targets/repo/main/jobs/99/resume/"))[0] == 404
    resumed = admin.post(f"/targets/repo/main/jobs/{job}/resume/")
    assert (resumed.status_code, resumed.json()["state"]) == (200, "pending")
    again = problem(admin.post(f"/targets/repo/main/jobs/{job}/resume/"))
    assert again == (409, "IllegalTransition", "cannot resume a job that is blocked")


def test_records_are_listed_newest_first_ten_at_a_time(admin: Http, store: Store) -> None:
    ids = [store.stop(make_job(store)).cancellation_id for _ in range(12)]
    listed = admin.get("/api/cancellations").json()
    assert [record["cancellation_id"] for record in listed] == ids[:1:-1]
    rest = admin.get("/api/cancellations?limit=10&offset=10").json()
    assert [record["cancellation_id"] for record in rest] == ids[1::-1]
    for query in ("limit=0", "offset=-1", f"offset={1 << 40}", "limit=1001"):
        assert problem(admin.get(f"/api/cancellations?{query}"))[0] == 422
    for name in ("cancel-999999", "nothing", "cancel-", f"cancel-{'9' * 30}"):
        assert problem(admin.get(f"/api/cancellations/{name}"))[0] == 404, name


def test_completed_tasks_are_rolled_back_afterwards(admin: Http, store: Store) -> None:
    ids = make_jobs(store, [NewJob(key="w"), NewJob(key="a", task="t", parent="w"),
                            NewJob(key="b", task="t", parent="w", after=["a"])])  # fmt: skip
    worker = make_worker(store, timedelta(hours=1))
    worker.finish(worker.claim_one())
    record = admin.post(f"/api/jobs/{ids['w']}/cancel").json()["cancellation_id"]
    answer = admin.post(f"/api/cancellations/{record}/rollback", {"tasks": [ids["a"]]})
    assert answer.status_code == 202
    assert admin.get(answer.headers["location"]).json()["task"] == "tenure.rollback"
    assert problem(admin.post("/api/cancellations/cancel-000099/rollback"))[0] == 404
    assert problem(admin.post(f"/api/cancellations/{record}/rollback", {"tasks": []}))[0] == 422
