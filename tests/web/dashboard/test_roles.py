"""Who sees which buttons, and that a button nobody was offered does nothing either."""

import pytest

from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.lifecycle import State
from tenure.domain.principal import Role
from tenure.domain.tenant import Tenant
from tenure.store.store import Store
from tests.factories import make_job, make_job_in, make_worker
from tests.web.dashboard.conftest import Visits
from tests.web.dashboard.visitor import Visitor, actions, said
from tests.web.http_client import Http

PAGES = (
    *("/", "/jobs", "/queues", "/targets", "/workers", "/pools", "/schedules", "/audit"),
    *("/policies", "/strategies", "/bulks", "/tasks", "/stops", "/questions", "/fleet", "/leaks"),
)


def verbs(text: str, job: int) -> set[str]:
    start = f"/jobs/{job}/"
    return {path.removeprefix(start) for path in actions(text) if path.startswith(start)}


def test_a_viewer_sees_no_buttons(vic: Visitor, store: Store) -> None:
    store.create_pool("trees", ["oak"])
    store.pause_dispatch("queue", "slow")
    make_worker(store)
    job = make_job(store, owner="vic", target="site:1")
    for path in (*PAGES, f"/jobs/{job}", "/cancellations", "/bulk"):
        assert actions(vic.sees(path)) == {"/logout"}, path
    answer = vic.does(f"/jobs/{job}/cancel", reason="mine")
    assert answer.status_code == 403
    assert "vic is a viewer and may not stop" in said(answer.text)


def test_an_operator_sees_buttons_on_jobs_of_its_own(ann: Visitor, store: Store) -> None:
    mine, other = make_job(store, owner="ann"), make_job(store, owner="ben")
    assert verbs(ann.sees(f"/jobs/{mine}"), mine) == {"cancel", "pause"}
    assert verbs(ann.sees(f"/jobs/{other}"), other) == set()
    answer = ann.does(f"/jobs/{other}/cancel", reason="no")
    assert answer.status_code == 403
    assert "belongs to ben" in said(answer.text)
    [row] = [row for row in store.audit_log("job", str(other)) if row.verb == "refuse"]
    assert (row.actor, row.via) == ("ann", "dashboard")
    for path in ("/queues", "/targets", "/workers", "/pools", "/policies", "/strategies"):
        assert actions(ann.sees(path)) == {"/logout"}, path


def test_an_admin_sees_all_of_its_tenant(root: Visitor, store: Store) -> None:
    job = make_job(store, owner="ben")
    assert verbs(root.sees(f"/jobs/{job}"), job) == {"cancel", "pause"}
    store.create_pool("trees", ["oak"])
    worker = make_worker(store)
    assert f"/workers/{worker.id}/drain" in actions(root.sees("/workers"))
    assert {"/pools", "/pools/pause", "/pools/slots"} <= actions(root.sees("/pools"))


@pytest.mark.parametrize(
    ("state", "offered"),
    [
        (State.PENDING, {"cancel", "pause"}),
        (State.RUNNING, {"cancel", "pause", "inspect"}),
        (State.PAUSED, {"cancel", "resume"}),
        (State.COMPLETED, {"rerun"}),
        (State.FAILED, {"resume", "clear", "rerun"}),
        (State.CANCELLED, {"rerun"}),
    ],
)
def test_what_the_state_does_not_allow_is_not_offered(
    root: Visitor, store: Store, state: State, offered: set[str]
) -> None:
    job = make_job_in(store, state)
    assert verbs(root.sees(f"/jobs/{job}"), job) == offered


def test_a_tenants_page_shows_nothing_of_another(
    client: Client, visits: Visits, store: Store
) -> None:
    client.migrate(Tenant("acme"))
    mark = "seen-by-nobody-else"
    store.create_pool(mark, ["oak"])
    store.pause_dispatch("queue", mark)
    store.set_policy(mark, {"filter": {"queue": mark}, "when": {"age": "1h"}})
    store.set_strategy(mark, {"force": True})
    bulk = store.bulk_stop({"queue": "none"}, reason=mark)
    store.set_webhook(mark, "https://example.org/in")
    store.revoke_token(make_token(client, mark, Role.VIEWER)[1].id, reason=mark)
    worker = make_worker(store)
    job = make_job(store, mark, queue=mark, target=mark, key=mark, tags=[mark])
    record = store.stop(make_job(store, mark), reason=mark).cancellation_id
    boss = visits("boss", Role.ADMIN, "acme")
    for path in (*PAGES, "/cancellations", "/bulk", "/tokens", "/webhooks"):
        assert mark not in boss.sees(path), path
    assert "No jobs match this search" in said(boss.sees(f"/jobs?queue={mark}"))
    for path in (f"/jobs/{job}", f"/jobs/{mark}", f"/cancellations/{record}", f"/jobs/{job}/live"):
        assert boss.see(path).status_code == 404, path
    assert boss.see(f"/bulk/{bulk.id}").status_code == 404
    assert boss.does("/policies/drop", name=mark).status_code == 404
    assert boss.does("/strategies/drop", name=mark).status_code == 404
    assert boss.see("/tenants").status_code == 403
    assert boss.does(f"/workers/{worker.id}/drain").status_code == 403
    assert boss.does(f"/jobs/{job}/cancel", reason="mine now").status_code == 404
    assert boss.does("/tenants/pause", name="default").status_code == 403
    assert "/tenants" not in boss.sees("/")


def test_a_stream_says_that_something_moved_and_not_what(
    client: Client, visits: Visits, http: Http, store: Store
) -> None:
    client.migrate(Tenant("acme"))
    record = store.stop(make_job_in(store, State.RUNNING), reason="seen-by-nobody-else")
    job = make_job(store, "seen-by-nobody-else")
    root, boss = visits("root", Role.ADMIN), visits("boss", Role.ADMIN, "acme")
    for path in ("/live", f"/jobs/{job}/live", f"/cancellations/{record.cancellation_id}/live"):
        status, told = http.opens(path, root.headers)
        assert status == 200
        assert "data: {}" in told
        assert "seen" not in told
    assert "data: {}" in http.opens("/live", boss.headers)[1]
    for path in (f"/jobs/{job}/live", f"/cancellations/{record.cancellation_id}/live"):
        assert http.opens(path, boss.headers)[0] == 404, path
