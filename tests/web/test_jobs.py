"""Jobs by request: enqueued, listed, shown, explained."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tenure.app import Tenure
from tenure.domain.job import Job
from tenure.domain.lifecycle import State
from tenure.store.outcomes import LogLine, Report
from tenure.store.store import Store
from tenure.web import create_app
from tests.factories import make_job, make_job_in, make_worker
from tests.web.conftest import Bearer
from tests.web.http_client import Http, asking, problem


def test_a_job_is_enqueued_and_belongs_to_whoever_asks(ada: Http, store: Store) -> None:
    answer = ada.post(
        "/api/jobs",
        {"task": "crawl", "args": {"site": "a"}, "queue": "web", "priority": 7, "tags": ["x"],
         "timeout": "1m", "retry": 1, "target": "site:a", "key": "first"},
    )  # fmt: skip
    assert answer.status_code == 201
    assert answer.json() == {"id": 1, "created": True, "taken": None, "key": "first"}
    assert answer.headers["location"] == "/api/jobs/1"
    job = store.show(1)
    assert (job.task, job.args, job.queue, job.priority) == ("crawl", {"site": "a"}, "web", 7)
    assert (job.owner, job.tags, job.max_attempts, job.target) == ("ada", ("x",), 2, "site:a")
    assert job.options is not None
    assert job.options["timeout"] == "1m"


def test_the_same_idempotency_key_again_is_the_same_job(ada: Http) -> None:
    key = {"idempotency-key": "once"}
    first = ada.post("/api/jobs", {"task": "crawl"}, headers=key)
    again = ada.post("/api/jobs", {"task": "crawl"}, headers=key)
    assert (first.status_code, again.status_code) == (201, 200)
    assert (again.json()["id"], again.json()["taken"]) == (first.json()["id"], "idempotency")
    assert again.headers["location"] == first.headers["location"]
    assert len(ada.get("/api/jobs").json()) == 1


def test_the_same_idempotency_key_of_another_name_is_another_job(
    http: Http, bearer: Bearer
) -> None:
    first, other = (
        http.as_({**bearer(name), "idempotency-key": "once"}).post("/api/jobs", {"task": "crawl"})
        for name in ("ada", "bob")
    )
    assert (first.status_code, other.status_code) == (201, 201)
    assert other.json()["id"] != first.json()["id"]


def test_many_at_once_with_one_idempotency_key_make_one_job(http: Http, bearer: Bearer) -> None:
    ada = http.as_({**bearer("ada"), "idempotency-key": "once"})
    answers = ada.together(*[("POST", "/api/jobs", {"task": "crawl"})] * 8)
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
    assert {answer.json()["id"] for answer in answers} == {answers[0].json()["id"]}


def test_a_whole_job_is_enqueued_with_its_tasks(ada: Http, store: Store) -> None:
    answer = ada.post(
        "/api/jobs",
        [
            {"key": "trip"},
            {"key": "book", "task": "book", "parent": "trip"},
            {"task": "pay", "parent": "trip", "after": ["book", {"job": "book", "policy": "run"}]},
        ],
    )
    assert answer.status_code == 201
    trip, book, pay = (made["id"] for made in answer.json())
    assert store.show(pay).parent_id == trip
    assert [need["job_id"] for need in store.show(pay).needs] == [book]
    tasks = ada.get(f"/api/jobs/{trip}/tasks").json()
    assert [task["id"] for task in tasks] == [pay, book]
    assert ada.get("/api/jobs/trip").json()["id"] == trip


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        ({"task": "crawl", "colour": 1}, 422, "unknown field `colour`"),
        ({"task": "crawl", "priority": 1 << 40}, 422, "priority: it takes a whole number"),
        ({"task": "crawl", "delay": "soon"}, 422, "'soon' is not a duration"),
        ({"task": "crawl", "run_at": "2030-01-01T00:00:00"}, 422, "has no time zone"),
        ({"task": "crawl", "parent": 99}, 404, "there is no job 99 to be a parent"),
        ({"task": "crawl", "parent": 1 << 70}, 422, ""),
        ({"task": "crawl", "after": ["nobody"]}, 404, "no job with the key 'nobody'"),
        ({"task": "crawl", "args": [1]}, 422, "Expected `object`"),
        ({"task": "", "args": {}}, 422, ""),
        ({"task": "tenure.rollback"}, 422, "a task of Tenure itself"),
        ({"task": "crawl", "args": {"a": "\0"}}, 422, "NUL"),
        ({"task": "\0"}, 422, "NUL"),
        ({"task": "crawl", "pools": ["nowhere"]}, 422, "nowhere"),
        ({"task": "crawl", "owner": "bob"}, 403, "bob"),
        ([], 422, "1 to 1000 jobs"),
        ([{"task": "a"}] * 1001, 422, "1 to 1000 jobs"),
        ([{"task": "a"}, {"task": 1}], 422, "$[1].task"),
        ("crawl", 422, ""),
        ({}, 422, "a job needs a task"),
        ([{"task": "a"}, {}], 422, "a job needs a task"),
    ],
)
def test_what_cannot_be_enqueued_is_refused_with_a_sentence(
    ada: Http, body: object, status: int, why: str
) -> None:
    code, _, message = problem(ada.post("/api/jobs", body))
    assert code == status, message
    assert why in message
    assert ada.get("/api/jobs").json() == []


@pytest.mark.parametrize(
    "text",
    [
        b'{"task": "a", "args": {"x": NaN}}',
        b'{"task": "a", "args": {"x": "\\ud800"}}',
        b'{"task": "a", "args": {"x": "\xff"}}',
        b'{"task": "a", "args": {"x": 1e400}}',
        b'{"task": "a"',
        b"null",
    ],
)
def test_what_is_not_json_is_refused_with_a_sentence(ada: Http, text: bytes) -> None:
    answer = ada.send(
        "POST", "/api/jobs", content=text, headers={"content-type": "application/json"}
    )
    assert problem(answer)[:2] == (422, "InputRefused")


def test_an_unique_key_that_is_taken_can_be_refused(ada: Http) -> None:
    ada.post("/api/jobs", {"task": "a", "unique": "u"})
    again = ada.post("/api/jobs", {"task": "a", "unique": "u"})
    assert (again.status_code, again.json()["taken"]) == (200, "unique")
    refused = ada.post("/api/jobs", {"task": "a", "unique": "u", "when_taken": "refuse"})
    assert problem(refused)[:2] == (409, "KeyTaken")


@pytest.fixture
def shop(database: str, bearer: Bearer) -> Iterator[Http]:
    """An operator of an API that knows its tasks."""
    with Tenure(database) as app:

        @app.task(name="crawl", queue="web", target="site:{site}")
        def crawl(site: str, pages: int = 10) -> int:
            return pages

        with asking(create_app(app)) as http:
            yield http.as_(bearer("ada"))


def test_known_tasks_have_their_arguments_checked(shop: Http, store: Store) -> None:
    made = shop.post("/api/jobs", {"task": "crawl", "args": {"site": "a"}})
    assert made.status_code == 201
    job = store.show(made.json()["id"])
    assert (job.queue, job.target) == ("web", "site:a")
    wrong = shop.post("/api/jobs", {"task": "crawl", "args": {"pages": "many"}})
    assert "task 'crawl' cannot take these arguments" in problem(wrong)[2]
    unknown = problem(shop.post("/api/jobs", {"task": "craw"}))
    assert unknown[:2] == (422, "InputRefused")
    assert unknown[2].startswith("there is no task 'craw'; the nearest is 'crawl'. If it is still")


def test_a_job_is_shown_with_every_field(ada: Http, store: Store) -> None:
    job = make_job(store, key="by-key")
    worker = make_worker(store)
    worker.claim_one()
    seen = ada.get(f"/api/jobs/{job}").json()
    assert seen.keys() == set(Job.__struct_fields__)
    assert (seen["status"], seen["worker_id"], seen["lease_owner"]) == (
        "running",
        str(worker.id),
        str(worker.id),
    )
    assert seen["heartbeat_at"] == seen["last_heartbeat_at"] is not None
    assert seen["lease_expires_at"] > seen["heartbeat_at"]
    assert ada.get("/api/jobs/by-key").json()["id"] == job


def test_who_names_a_job_that_is_not_there_is_told_so(ada: Http) -> None:
    for name in ("7", "9223372036854775808", "9" * 30, "nobody", "-1", "1e3", "%F0%9F%98%80"):
        code, kind, message = problem(ada.get(f"/api/jobs/{name}"))
        assert (code, kind) == (404, "JobNotFound"), message
    assert problem(ada.get("/api/jobs/a%00b"))[0] == 422


def test_a_key_of_several_jobs_names_none(ada: Http, store: Store) -> None:
    make_job(store, key="twice")
    make_job(store, key="twice")
    code, _, message = problem(ada.get("/api/jobs/twice"))
    assert (code, message) == (
        422,
        "more than one job that is not over has the key 'twice'; name it by its id",
    )


def test_pages_are_stable_while_jobs_come_in(ada: Http, store: Store) -> None:
    ids = [make_job(store) for _ in range(5)]
    seen: list[int] = []
    path = "/api/jobs?limit=2"
    while True:
        answer = ada.get(path)
        seen += [job["id"] for job in answer.json()]
        make_job(store)
        if "link" not in answer.headers:
            break
        link = answer.headers["link"]
        assert link.endswith('>; rel="next"')
        path = link[1:].partition(">")[0]
    assert seen == ids[::-1]


def test_jobs_are_filtered(ada: Http, store: Store) -> None:
    mine = make_job(
        store, "crawl", queue="web", target="t", tags=["x"], key="k", args={"site": "Example"}
    )
    make_job(store, "other")
    now = datetime.now(UTC)
    for query in (
        "task=crawl", "queue=web", "status=queued&status=waiting&status=blocked&tag=x",
        "queue=web&text=exam&text=PLE",
        "target=t", "tag=x", "key=k", "text=example&queue=web",
        f"root={mine}", "status=blocked", f"below={mine + 1}&state=pending",
    ):  # fmt: skip
        if query == "status=blocked":
            continue
        found = ada.get(f"/api/jobs?{query}").json()
        assert [job["id"] for job in found] == [mine], query
    later = (now + timedelta(hours=1)).isoformat().replace("+", "%2B")
    assert ada.get(f"/api/jobs?since={later}").json() == []
    assert len(ada.get(f"/api/jobs?until={later}&owner=db:postgres").json()) == 2
    assert ada.get("/api/jobs?state=running").json() == []


@pytest.mark.parametrize(
    "query",
    [
        "limit=0", "limit=1001", "limit=x", "below=-1", f"below={1 << 63}", "status=lost",
        "worker=me", "parent=a", f"root={1 << 70}", "since=yesterday", "until=2030-01-01",
        "since=2030-01-01T00:00:00", "text=%00", "limit=",
    ],
)  # fmt: skip
def test_filters_that_cannot_be_are_refused(ada: Http, query: str) -> None:
    assert problem(ada.get(f"/api/jobs?{query}"))[:2] == (422, "InputRefused")


def test_a_secret_is_never_shown(ada: Http, store: Store) -> None:
    body = {"task": "pay", "args": {"card": "hush!", "sum": 5}, "secret": ["card"]}
    job = ada.post("/api/jobs", body).json()["id"]
    make_worker(store).claim_one()
    for path in (
        f"/{job}",
        "",
        "?text=hush!&state=running",
        f"/{job}/explain",
        f"/{job}/log",
        "?text=sum&state=running",
    ):
        assert "hush!" not in ada.get(f"/api/jobs{path}").text.replace("text=hush!", ""), path
    assert ada.get("/api/jobs?text=hush!&state=running").json() == []
    assert "hush!" not in ada.post(f"/api/jobs/{job}/rerun").text
    wrong = ada.post("/api/jobs", {**body, "args": {"card": "hush!", "sum": float(1 << 1023)}})
    assert "hush!" not in wrong.text


def test_why_a_job_does_not_run(ada: Http, store: Store) -> None:
    job = make_job(store)
    told = ada.get(f"/api/jobs/{job}/explain").json()
    assert told["reasons"][0]["sentence"] == "no live worker serves the queue default"


def test_what_a_job_left_on_its_way(ada: Http, store: Store) -> None:
    job, worker = make_job(store), make_worker(store)
    claimed = worker.claim_one()
    report = Report(job=job, token=claimed.token, partials=[1, 2, 3], logs=[LogLine("hello")])
    store.report(worker.id, [report])
    partials = ada.get(f"/api/jobs/{job}/partials").json()
    assert [partial["value"] for partial in partials] == [1, 2, 3]
    above = partials[0]["id"]
    assert [
        partial["value"]
        for partial in ada.get(f"/api/jobs/{job}/partials?above={above}&limit=1").json()
    ] == [2]
    [line] = ada.get(f"/api/jobs/{job}/log").json()
    assert (line["level"], line["line"]) == ("info", "hello")
    for path in ("partials", "log", "tasks", "artifacts", "explain"):
        assert problem(ada.get(f"/api/jobs/99/{path}"))[0] == 404, path
        assert problem(ada.get(f"/api/jobs/{'9' * 25}/{path}"))[0] == 404, path


def test_a_job_is_run_again_and_queued(ada: Http, admin: Http, store: Store) -> None:
    made = ada.post("/api/jobs", {"task": "a", "args": {"x": 1}}).json()["id"]
    again = ada.post(f"/api/jobs/{made}/rerun", {"reason": "once more"})
    assert (again.status_code, again.json()["args"]) == (201, {"x": 1})
    assert again.headers["location"] == f"/api/jobs/{again.json()['id']}"
    assert again.json()["owner"] == "ada"
    assert problem(ada.post(f"/api/jobs/{made}/queue"))[0] == 409
    assert problem(ada.post(f"/api/jobs/{made}/queue", {"run_at": "2030-01-01T00:00:00"}))[0] == 422


def test_failed_jobs_are_cleared_and_resumed(admin: Http, store: Store) -> None:
    job = make_job_in(store, State.FAILED, max_attempts=1)
    resumed = admin.post(f"/api/jobs/{job}/resume", {"fresh": True})
    assert (resumed.status_code, resumed.json()["state"]) == (200, "pending")
    assert problem(admin.post(f"/api/jobs/{job}/resume"))[:2] == (409, "IllegalTransition")
    assert problem(admin.post(f"/api/jobs/{job}/clear"))[:2] == (409, "IllegalTransition")
    store.stop(job)
    other = make_job_in(store, State.FAILED, max_attempts=1)
    assert admin.post(f"/api/jobs/{other}/clear").json() == {"cleared": [other]}


def test_whoever_may_not_enqueue_is_refused_before_a_task_is_looked_up(viewer: Http) -> None:
    assert problem(viewer.post("/api/jobs", {"task": "nowhere"}))[0] == 403
