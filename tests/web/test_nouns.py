"""Queues, targets, pools, workers, tenants, tokens, policies, bulk stops, the whole."""

from datetime import timedelta
from typing import Any

from tenure.control.client import Client
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, State
from tenure.domain.principal import Role
from tenure.domain.tenant import Tenant
from tenure.store.store import Store
from tenure.web import create_app
from tests.apps.paged import app as paged
from tests.factories import make_job, make_job_in, make_jobs, make_worker, promote
from tests.web.conftest import Bearer
from tests.web.http_client import Http, asking, problem


def test_queues_are_paused_and_go_on(admin: Http, store: Store) -> None:
    make_job(store, queue="a/b")
    assert admin.post("/api/queues/a/b/pause", {"reason": "deploy"}).json() == {"paused": True}
    assert admin.post("/api/queues/a/b/pause").json() == {"paused": False}
    [queue] = admin.get("/api/queues").json()
    assert (queue["name"], queue["paused"], queue["by_status"]) == ("a/b", True, {"queued": 1})
    assert make_worker(store).claim() == ()
    assert admin.post("/api/queues/a/b/resume").json() == {"resumed": True}
    assert len(make_worker(store).claim()) == 1


def test_schedules_are_listed_paused_resumed_and_run(
    client: Client, bearer: Bearer, store: Store
) -> None:
    client.schedules = paged.schedules
    with asking(create_app(client)) as http:
        admin, ada = http.as_(bearer("root", Role.ADMIN)), http.as_(bearer("ada"))
        listed = {each["name"]: each for each in ada.get("/api/schedules").json()}
        assert listed["nightly"]["pause"] is None
        assert listed["nightly"]["next_at"] > "20"
        path = "/api/schedules/nightly"
        assert admin.post(f"{path}/pause", {"reason": "holidays"}).json() == {"paused": True}
        assert ada.post(f"{path}/resume").status_code == 403
        [pause] = ada.get("/api/pauses").json()
        assert (pause["subject"], pause["paused_by"], pause["reason"]) == (
            *("schedule", "root", "holidays"),
        )
        listed = {each["name"]: each for each in ada.get("/api/schedules").json()}
        assert (listed["nightly"]["next_at"], listed["nightly"]["pause"]) == (None, pause)
        made = ada.post(f"{path}/run")
        assert made.status_code == 201
        job = store.show(made.json()["id"])
        assert (job.owner, job.tags) == ("ada", ("schedule:nightly",))
        refused = ada.post(f"{path}/run")
        assert refused.status_code == 409
        assert f"job {job.id} of schedule 'nightly' has not ended" in refused.text
        assert ada.post(f"{path}/run", {"beside": True}).status_code == 201
        assert problem(ada.post("/api/schedules/x/run"))[0] == 404
        assert admin.post(f"{path}/resume").json() == {"resumed": True}
    [resumed, *_] = store.audit_log("schedule", "nightly")
    assert (resumed.verb, resumed.actor, resumed.via) == ("resume", "root", "rest")


def test_failures_run_times_and_leaks_of_tasks(viewer: Http, store: Store) -> None:
    worker = make_worker(store)
    for _ in range(2):
        make_job(store, "pay", max_attempts=1)
    promote(store)
    first, second = worker.claim(2)
    worker.finish(first, cleanup={"failed": [{"name": "browser", "error": "no answer"}]})
    worker.finish(second, "failed", error={"type": "E", "message": "no"})
    [runs] = viewer.get("/api/task-runs?task=pay").json()
    assert (runs["jobs"], runs["completed"], runs["failed"]) == (2, 1, 1)
    assert viewer.get("/api/task-runs?jobs=0").status_code == 422
    [leak] = viewer.get("/api/leaks").json()
    assert (leak["job_id"], leak["resources"][0]["name"]) == (first.id, "browser")


def test_targets_are_listed_paused_and_cleared(admin: Http, store: Store) -> None:
    ids = [make_job(store, target="repo/x", max_attempts=1) for _ in range(3)]
    promote(store)
    [target] = admin.get("/api/targets").json()
    assert (target["name"], target["holder"], target["line"]) == ("repo/x", ids[0], 2)
    assert admin.get("/api/targets?after=repo/x").json() == []
    assert admin.get("/api/targets?target=repo/x").json() == [target]
    worker = make_worker(store)
    worker.finish(worker.claim_one(), "failed", error={"type": "E", "message": "no"})
    assert admin.get("/api/targets").json()[0]["blocked_by"] == [ids[0]]
    assert admin.post("/api/targets/repo/x/clear").json() == {"cleared": [ids[0]]}
    assert admin.post("/api/targets/repo/x/pause").json() == {"paused": True}
    promote(store)
    assert worker.claim() == ()
    admin.post("/api/targets/repo/x/resume")
    promote(store)
    assert worker.claim_one().id == ids[1]


def test_limits_are_set_closed_opened_and_deleted(admin: Http, store: Store) -> None:
    body = {"rates": {"calls": {"amount": 60, "per": "1m"}}, "at_once": 2}
    made = admin.put("/api/limits/openai:{model}", body).json()
    assert made["rates"] == {"calls": {"amount": 60, "per": 60, "burst": 60}}
    make_job(store, limits=["openai:large"])
    make_worker(store).claim_one()
    closed = admin.post("/api/limits/openai:large/close", {"duration": "5m", "reason": "429"})
    [name] = closed.json()["names"]
    assert (name["name"], name["in_use"], name["closed"]["reason"]) == ("openai:large", 1, "429")
    assert admin.post("/api/limits/openai:large/open").json() == {"opened": True}
    assert [limit["name"] for limit in admin.get("/api/limits").json()] == ["openai:{model}"]
    assert admin.delete("/api/limits/openai:{model}").json() == {"dropped": "openai:{model}"}
    assert problem(admin.get("/api/limits/openai:{model}"))[0] == 404
    assert problem(admin.put("/api/limits/x", {"at_once": 0}))[0] == 422


def test_pools_and_their_slots(admin: Http, store: Store) -> None:
    made = admin.post("/api/pools", {"name": "trees/old", "slots": ["oak", "elm"]})
    assert made.status_code == 201
    assert admin.get(made.headers["location"]).json() == made.json()
    assert problem(admin.post("/api/pools", {"name": "trees/old"}))[0] == 409
    assert problem(admin.post("/api/pools", {"name": ""}))[0] == 422
    slots = admin.post("/api/pools/trees/old/slots", {"add": ["ash"], "remove": ["elm"]}).json()
    assert [slot["name"] for slot in slots["slots"]] == ["ash", "oak"]
    job = make_job(store, pools=["trees/old"])
    make_worker(store).claim_one()
    [held] = [slot for slot in admin.get("/api/pools").json()[0]["slots"] if slot["job_id"]]
    assert held["job_id"] == job
    path = f"/api/pools/trees/old/slots/{held['name']}/release"
    assert problem(admin.post(path))[0] == 409
    assert problem(admin.post("/api/pools/trees/old/slots/fir/release"))[0] == 404
    assert problem(admin.get("/api/pools/none"))[0] == 404


def test_workers_are_listed_and_drained(admin: Http, store: Store) -> None:
    worker = make_worker(store, timedelta(hours=1))
    job = make_job(store)
    worker.claim_one()
    [seen] = admin.get("/api/workers").json()
    assert (seen["id"], [held["job_id"] for held in seen["jobs"]]) == (str(worker.id), [job])
    drained = admin.post(f"/api/workers/{worker.id}/drain", {"reason": "new host"})
    assert drained.json()["worker_id"] == str(worker.id)
    assert admin.get("/api/workers").json()[0]["status"] == "draining"
    assert problem(admin.post(f"/api/workers/{worker.id.int}/drain"))[0] == 422
    assert problem(admin.post("/api/workers/00000000-0000-0000-0000-000000000000/drain"))[0] == 404


def test_the_runners_of_a_job_are_listed_and_one_is_ended(admin: Http, store: Store) -> None:
    worker = make_worker(store, timedelta(hours=1))
    make_job(store)
    job = worker.claim_one()
    about = {"tenant": "default", "kind": "async", "pid": 7, "jobs": {str(job.id): job.token}}
    store.renew(worker.id, runners={"runner-1": about})
    [seen] = admin.get(f"/api/jobs/{job.id}/runners").json()
    assert (seen["runner"], seen["jobs"], seen["others"]) == ("runner-1", [job.id], 0)
    ended = admin.post("/api/workers/runners/runner-1/end", {"reason": "it leaks", "grace": "8s"})
    assert ended.json()["jobs"] == [job.id]
    assert store.read_signals(worker.id).ending["runner-1"].grace == 8
    assert problem(admin.post("/api/workers/runners/runner-2/end"))[0] == 404
    assert problem(admin.post("/api/workers/runners/runner-1/end", {"grace": "soon"}))[0] == 422


def test_a_tenant_sees_no_jobs_of_another_beside_a_worker(
    http: Http, client: Client, store: Store, bearer: Bearer
) -> None:
    client.migrate(Tenant("acme"))
    make_job(store)
    make_worker(store, timedelta(hours=1)).claim_one()
    theirs = http.as_(bearer("boss", Role.ADMIN, "acme"))
    [seen] = theirs.get("/api/workers").json()
    assert seen["jobs"] == []


def test_tenants_are_made_paused_and_dropped(
    admin: Http, http: Http, client: Client, bearer: Bearer
) -> None:
    assert admin.post("/api/tenants", {"name": "acme"}).status_code == 201
    assert admin.post("/api/tenants", {"name": "acme"}).status_code == 200
    assert problem(admin.post("/api/tenants", {"name": "Acme; DROP"}))[0] == 422
    boss = http.as_(bearer("boss", Role.ADMIN, "acme"))
    assert boss.post("/api/jobs", {"task": "work"}).status_code == 201
    assert admin.get("/api/jobs").json() == []
    assert admin.post("/api/tenants/acme/pause").json() == {"paused": True}
    paused = {one["name"]: one["paused"] for one in admin.get("/api/tenants").json()}
    assert paused == {"acme": True, "default": False}
    assert boss.post("/api/tenants/acme/resume").json() == {"resumed": True}
    for refused, what in (
        (boss.post("/api/tenants/default/pause"), "pause tenant default"),
        (boss.post("/api/tenants", {"name": "other"}), "create tenant"),
        (boss.delete("/api/tenants/default"), "drop tenant"),
        (boss.get("/api/tenants"), "list tenants"),
    ):
        code, _, message = problem(refused)
        assert (code, message) == (
            403,
            f"boss may not {what}; an admin of the default tenant may",
        )
    assert problem(admin.post("/api/tenants/nowhere/pause"))[0] == 404
    assert admin.delete("/api/tenants/acme").json() == {"dropped": "acme"}
    assert problem(admin.delete("/api/tenants/acme"))[0] == 404
    rows = admin.get("/api/audit", params={"subject": "tenant", "name": "acme"}).json()
    assert [(row["verb"], row["actor"], row["via"]) for row in rows] == [
        ("drop", "root", "rest"),
        ("create", "root", "rest"),
    ]
    assert [tenant.name for tenant in client.store.tenants()] == ["default"]


def test_tokens_are_made_used_and_revoked(admin: Http, http: Http, client: Client) -> None:
    client.migrate(Tenant("acme"))
    made = admin.post(
        "/api/tokens", {"name": "bob", "role": "admin", "tenant": "acme", "lifetime": "1h"}
    )
    assert made.status_code == 201
    token = made.json()["token"]
    assert (token["tenant"], token["role"], token["created_by"]) == ("acme", "admin", "root")
    bob = http.as_({"authorization": f"Bearer {made.json()['secret']}"})
    assert [one["name"] for one in bob.get("/api/tokens").json()] == ["bob"]
    assert [one["name"] for one in admin.get("/api/tokens?tenant=acme").json()] == ["bob"]
    elsewhere = bob.post("/api/tokens", {"name": "eve", "role": "admin", "tenant": "default"})
    assert problem(elsewhere)[0] == 403
    assert problem(bob.post("/api/tokens/1/revoke"))[0] == 404
    assert admin.post(f"/api/tokens/{token['id']}/revoke").json()["revoked_by"] == "root"
    viewer = {"name": "x", "role": "viewer"}
    for change in (
        {"role": "king"}, {"name": ""}, {"name": "db:x"}, {"lifetime": "0s"}, {"lifetime": "900y"},
    ):  # fmt: skip
        assert problem(admin.post("/api/tokens", {**viewer, **change}))[0] == 422, change
    unending = admin.post("/api/tokens", {**viewer, "lifetime": None})
    assert unending.json()["token"]["expires_at"] is None


def test_an_owner_is_whoever_asks_unless_an_admin_says_otherwise(admin: Http, store: Store) -> None:
    made = admin.post("/api/jobs", {"task": "work", "owner": "carl"}).json()["id"]
    assert store.show(made).owner == "carl"


def test_policies_are_set_and_dropped(admin: Http, ada: Http, store: Store) -> None:
    rule = {"filter": {"queue": "q"}, "when": {"waiting": "2h"}, "reason": "too late"}
    made = admin.put("/api/policies/stale", rule)
    assert (made.status_code, made.json()["enabled"]) == (200, True)
    assert admin.put("/api/policies/stale", {**rule, "enabled": False}).json()["enabled"] is False
    assert [policy["name"] for policy in ada.get("/api/policies").json()] == ["stale"]
    assert problem(admin.put("/api/policies/x", {"when": {}}))[0] == 422
    assert problem(admin.put("/api/policies/x", {}))[0] == 422
    assert problem(admin.put("/api/policies/x", {"when": {"age": "-1s"}}))[0] == 422
    assert problem(admin.put("/api/policies/x", {**rule, "strategy": "none"}))[0] == 404
    mine = ada.post("/api/jobs", {"task": "work"}).json()["id"]
    own = {"filter": {"id": mine}, "when": {"at": "2030-01-01T00:00:00Z"}}
    assert ada.put("/api/policies/mine", own).status_code == 200
    assert problem(ada.put("/api/policies/stale", rule))[0] == 403
    assert admin.delete("/api/policies/stale").json() == {"dropped": "stale"}
    assert problem(admin.delete("/api/policies/stale"))[0] == 404


def test_many_jobs_are_counted_and_then_stopped(admin: Http, ada: Http, store: Store) -> None:
    ids = [make_job(store, queue="q", owner="ada") for _ in range(120)]
    other = make_job(store, queue="q", owner="bob")
    newest = [job["id"] for job in ada.get("/api/jobs?queue=q&limit=3").json()]
    assert [job["id"] for job in ada.get(f"/api/jobs?id={newest[0]}&id={newest[2]}").json()] == [
        newest[0],
        newest[2],
    ]
    assert ada.get("/api/jobs?parent=none&queue=q&limit=3").json()[0]["id"] == newest[0]
    assert ada.get("/api/jobs?parent=any").status_code == 422
    assert ada.post("/api/bulk/preview", {"filter": {"id": newest}}).json()["total"] == 3
    preview = ada.post("/api/bulk/preview", {"filter": {"queue": "q"}}).json()
    assert (preview["total"], preview["reaches"], preview["others"]) == (121, 120, 1)
    assert store.show(ids[0]).state is State.PENDING
    answer = ada.post("/api/bulk", {"filter": {"queue": "q"}, "reason": "wrong", "wait": "20s"})
    assert answer.status_code == 200
    bulk = answer.json()
    assert (bulk["done"], bulk["refused"], bulk["reason"]) == (120, 1, "wrong")
    assert ada.get(answer.headers["location"]).json() == bulk
    assert {store.show(job).state for job in ids} == {State.CANCELLED}
    assert store.show(other).state is State.PENDING
    assert ada.get("/api/bulk").json() == [bulk]
    assert problem(ada.get("/api/bulk/99"))[0] == 404


def test_many_jobs_are_resumed_and_run_again(admin: Http, store: Store) -> None:
    store.stop(make_job(store, queue="q"), intent=Intent.PAUSE)
    asked = {"filter": {"queue": "q"}, "wait": "20s"}
    preview = admin.post("/api/bulk/preview", {"filter": {"queue": "q"}, "intent": "resume"})
    assert preview.json()["reaches"] == 1
    resumed = admin.post("/api/bulk", {**asked, "intent": "resume", "fresh": True}).json()
    assert (resumed["intent"], resumed["done"], resumed["options"]) == (
        "resume",
        1,
        {"fresh": True},
    )
    admin.post("/api/bulk", asked)
    rerun = admin.post("/api/bulk", {**asked, "intent": "rerun"}).json()
    assert (rerun["intent"], rerun["done"]) == ("rerun", 1)
    wrong = {"intent": "rerun", "force": True}, {"intent": "resume", "grace": "1s"}, {"fresh": True}
    for more in wrong:
        assert problem(admin.post("/api/bulk", {**asked, **more}))[0] == 422, more


def test_a_bulk_stop_that_is_not_over_is_accepted(admin: Http, store: Store) -> None:
    for _ in range(3):
        make_job(store)
    answer = admin.post("/api/bulk", {"filter": {}, "intent": "pause", "wait": 0})
    assert (answer.status_code, answer.json()["status"]) == (202, "running")
    assert store.advance_bulk() is not None
    assert admin.get(answer.headers["location"]).json()["status"] == "completed"
    assert {job.state for job in store.list_jobs()} == {State.PAUSED}


def test_a_bulk_stop_that_cannot_be_is_refused(admin: Http) -> None:
    bodies: list[dict[str, Any]] = [
        {}, {"filter": {"colour": "red"}}, {"filter": {"status": "lost"}}, {"filter": []},
        {"filter": {}, "wait": "1h"}, {"filter": {}, "intent": "kill"}, {"filter": {"id": 1 << 80}},
        {"filter": {"text": "\0"}}, {"filter": {"queue": {"a": 1}}},
    ]  # fmt: skip
    for body in bodies:
        assert problem(admin.post("/api/bulk", body))[0] == 422, body
        assert problem(admin.post("/api/bulk/preview", {**body, "wait": 1}))[0] == 422, body


def test_statistics_and_audit(admin: Http, viewer: Http, store: Store) -> None:
    make_jobs(store, [NewJob(key="w"), NewJob(task="t", parent="w")])
    assert viewer.get("/api/statistics").json()["total"] == 2
    job = make_job(store)
    admin.post(f"/api/jobs/{job}/cancel", {"reason": "enough"})
    store.stop(make_job(store), intent=Intent.PAUSE)
    [row] = viewer.get(f"/api/audit?subject=job&name={job}").json()
    assert (row["actor"], row["via"], row["reason"]) == ("root", "rest", "enough")
    first = viewer.get("/api/audit?limit=1")
    assert "below=" in first.headers["link"]
    following = viewer.get(first.headers["link"][1:].partition(">")[0]).json()
    assert following[0]["id"] < first.json()[0]["id"]


def test_history_is_told_of_all_and_of_one_queue(viewer: Http, store: Store) -> None:
    for queue in ("crawl", "mail", "mail"):
        make_job_in(store, State.COMPLETED, queue=queue)
    told = viewer.get("/api/history").json()
    assert (told["total"]["completed"], len(told["buckets"]), told["step_seconds"]) == (3, 96, 900)
    assert [(one["queue"], one["completed"]) for one in told["queues"]] == [
        ("crawl", 1),
        ("mail", 2),
    ]
    mail = viewer.get("/api/history?queue=mail&span=6h&step=30m").json()
    assert (mail["total"]["completed"], len(mail["buckets"])) == (2, 12)
    for query in ("span=2d", "span=90", "span=soon", "step=7m", "queue=mail&step=5m"):
        assert problem(viewer.get(f"/api/history?{query}"))[0] == 422, query


def test_the_scale_names_workers_wanted_and_the_first_to_drain(
    viewer: Http, store: Store, http: Http, client: Client, bearer: Bearer
) -> None:
    worker = make_worker(store, capacity={"async": 1, "process": 1})
    store.renew(worker.id, run_times={"work": 600.0})
    for _ in range(3):
        make_job(store)
    promote(store)
    seen = viewer.get("/api/scale?within=30s&max=2").json()
    assert (seen["wanted"], seen["exact"], seen["alive"], seen["surplus"]) == (2, 3.0, 1, 0)
    assert seen["sentence"].endswith("of which a worker has 1.0; 2 is the maximum")
    [work] = seen["work"]
    assert (work["queue"], work["task"], work["ready"]) == ("default", "work", 3)
    assert [each["id"] for each in seen["drain_order"]] == [str(worker.id)]
    assert viewer.get("/api/scale?queue=other").json()["work"] == []
    for query in ("within=0s", "within=soon", "min=-1", "max=x", "min=3&max=2"):
        assert problem(viewer.get(f"/api/scale?{query}"))[0] == 422, query
    client.migrate(Tenant("acme"))
    theirs = http.as_(bearer("boss", Role.ADMIN, "acme")).get("/api/scale").json()
    assert (theirs["wanted"], theirs["work"], theirs["alive"]) == (0, [], 1)


def test_metrics_are_those_of_the_tenant_that_asks(
    viewer: Http, http: Http, client: Client, store: Store, bearer: Bearer
) -> None:
    make_job(store, queue="seen")
    http.get("/api/jobs", headers={"authorization": "Bearer tenure_guess"})
    page = viewer.get("/metrics")
    assert page.headers["content-type"].startswith("text/plain")
    assert 'tenure_jobs{queue="seen",status="queued",tenant="default"} 1.0' in page.text
    assert "tenure_requests_not_recognized_total" in page.text
    client.migrate(Tenant("acme"))
    theirs = http.as_(bearer("boss", Role.ADMIN, "acme")).get("/metrics").text
    assert "seen" not in theirs
    assert "not_recognized" not in theirs
