"""Every form that changes something comes from our own page, in the session that sends it."""

import pytest
from starlette.routing import Route

from tenure.store.store import Store
from tenure.web.dashboard.routes import ROUTES
from tests.factories import make_job, make_worker
from tests.web.dashboard.conftest import Visits
from tests.web.dashboard.visitor import Visitor, said
from tests.web.http_client import Http

CHANGING = sorted(
    route.path
    for route in ROUTES
    if isinstance(route, Route) and "POST" in (route.methods or ()) and route.path != "/login"
)


def filled(path: str, store: Store) -> str:
    """Return the path with the ids of existing objects."""
    job = make_job(store)
    known = {
        "{job}": str(job),
        "{worker}": str(make_worker(store).id),
        "{cancellation}": store.stop(make_job(store)).cancellation_id,
        "{bulk}": str(store.bulk_stop({"queue": "nothing"}).id),
        "{token}": "1",
    }
    for name, value in known.items():
        path = path.replace(name, value)
    return path


def test_there_are_forms_to_be_tested() -> None:
    assert len(CHANGING) > 20


@pytest.mark.parametrize("path", CHANGING)
def test_a_form_that_is_not_of_this_session_is_refused(
    path: str, store: Store, root: Visitor, visits: Visits
) -> None:
    path = filled(path, store)
    fields = {"name": "default", "slot": "a", "reason": "because", "add": "a", "age": "1h"}
    before = store.audit_log(n=1000)
    ours = root.token
    forged = [
        ({}, {}),
        ({"csrf": ""}, {}),
        ({"csrf": "0" * 64}, {}),
        ({"csrf": ours[:-1]}, {}),
        ({"csrf": visits("ann").token}, {}),
        ({"csrf": ours}, {"sec_fetch_site": "cross-site"}),
        ({"csrf": ours}, {"sec_fetch_site": "same-site"}),
        ({"csrf": ours}, {"origin": "https://evil.example"}),
        ({"csrf": ours}, {"origin": "null"}),
    ]
    for more, headers in forged:
        answer = root.send(path, {**fields, **more}, **headers)
        assert answer.status_code == 403, (more, headers)
        assert "form" in said(answer.text)
    done = {(row.verb, row.subject) for row in store.audit_log(n=1000) if row not in before}
    assert done <= {("create", "token")}, "nothing but the token of ann"
    assert root.see(path).status_code in (404, 405, 200), "nothing is changed by a GET"


def test_whoever_has_no_session_cannot_send_a_form(http: Http, store: Store) -> None:
    for path in CHANGING:
        answer = http.send("POST", filled(path, store), data={"reason": "x"})
        assert answer.status_code == 401, path


def test_a_form_comes_as_a_form(root: Visitor, store: Store) -> None:
    job = make_job(store)
    headers = {**root.headers, "content-type": "application/json"}
    answer = root._http.send("POST", f"/jobs/{job}/cancel", content=b"{}", headers=headers)
    assert answer.status_code == 415
    large = root.send(f"/jobs/{job}/cancel", {"csrf": "x" * 100_000})
    assert large.status_code == 413
    odd = {**root.headers, "content-type": "application/x-www-form-urlencoded"}
    for body in (b"a=%ff", b"a=%00", b"&".join(b"a=1" for _ in range(300))):
        answer = root._http.send("POST", f"/jobs/{job}/cancel", content=body, headers=odd)
        assert answer.status_code == 422, body[:10]


def test_a_stop_has_a_reason(root: Visitor, store: Store) -> None:
    job = make_job(store)
    for verb in ("cancel", "pause"):
        answer = root.does(f"/jobs/{job}/{verb}", reason="  ")
        assert answer.status_code == 422
        assert "reason: this field is required" in said(answer.text)
    assert not store.show(job).cancellation_id
