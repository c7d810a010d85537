"""What goes out with every page: nothing inline, nothing kept, nothing framed."""

import pytest
from starlette.routing import Route

from tenure.store.calls import queries
from tenure.store.store import Store
from tenure.web.dashboard.routes import ROUTES
from tests.factories import make_job, make_worker
from tests.web.dashboard.visitor import Visitor, tags
from tests.web.http_client import Http

SEEN = sorted(
    route.path
    for route in ROUTES
    if isinstance(route, Route)
    and "GET" in (route.methods or ())
    and not route.path.endswith(("/live", ":path}"))
    and route.path not in ("/static/{name}", "/jump", "/jump/names", "/complete")
)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def filled(path: str, store: Store) -> str:
    make_worker(store)
    job = make_job(store)
    path = path.replace("{job}", str(job))
    path = path.replace("{cancellation}", store.stop(job).cancellation_id)
    return path.replace("{bulk}", str(store.bulk_stop({"queue": "nothing"}).id))


@pytest.mark.parametrize("path", [*SEEN, "/jobs/999999", "/jobs?below=x", "/cancellations/no"])
def test_every_page_is_guarded_and_has_nothing_inline(
    path: str, root: Visitor, store: Store
) -> None:
    answer = root.see(filled(path, store))
    assert answer.status_code in (200, 404, 422)
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    ids = []
    for tag, told in tags(answer.text):
        assert "style" not in told, tag
        assert not [name for name in told if name.startswith("on")], tag
        assert tag not in ("style", "iframe", "object", "embed", "base")
        if tag == "script":
            assert told["src"].startswith("/static/")
        if "id" in told:
            ids.append(told["id"])
        if tag in ("input", "select", "textarea") and told.get("type") not in (
            "hidden",
            "checkbox",
        ):
            assert "id" in told, "what is filled in has a label"
    assert len(ids) == len(set(ids)), "no id is there twice"
    labels = [told["for"] for tag, told in tags(answer.text) if tag == "label" and "for" in told]
    assert set(labels) <= set(ids)


def test_the_script_and_the_style_are_kept_until_they_change(http: Http) -> None:
    sources = [told.get("src") or told.get("href", "") for _, told in tags(http.get("/login").text)]
    files = [source for source in sources if source.startswith("/static/")]
    names = {file.partition("?")[0].removeprefix("/static/") for file in files}
    assert names >= {"tokens.css", "components.css", "live.js", "login.js"}
    for file in files:
        answer = http.get(file)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert http.get("/static/live.js").headers["cache-control"] == "no-cache"
    assert http.get("/static/..%2Fpage.py").status_code in (401, 404)
    assert http.get("/static/nothing.js").status_code == 404


def test_a_failure_inside_is_for_the_log(
    root: Visitor, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a secret of the server")

    monkeypatch.setattr(queries, "audit_log", broken)
    answer = root.see("/audit")
    assert answer.status_code == 500
    assert "a secret" not in answer.text
    assert "a secret of the server" in caplog.text
