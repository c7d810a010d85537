"""In by a token and out again; closed to everybody else."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from fastapi import FastAPI

from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.principal import Role
from tenure.store.store import Store
from tenure.web import create_app
from tenure.web.principals import TRUSTED_FOR
from tests.factories import make_job
from tests.web.asking import Http, asking
from tests.web.page.conftest import Visits
from tests.web.page.visiting import Visitor, actions, said
from tests.workers import eventually


@contextmanager
def page(client: Client, base_url: str = "http://tenure", **options: Any) -> Iterator[Http]:
    with asking(create_app(client, **options), base_url) as http:
        yield http


def log_in(http: Http, secret: str, **more: str) -> Any:
    # By somebody new: a cookie that is set must not stay with those who ask next.
    return http.as_({}).send("POST", "/login", data={"token": secret, **more})


def test_whoever_is_not_logged_in_is_led_to_the_login(http: Http) -> None:
    answer = http.get("/jobs?status=failed&queue=a%26b")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/login?next=%2Fjobs%3Fstatus%3Dfailed%26queue%3Da%2526b"
    assert http.get("/").headers["location"] == "/login"
    assert "Token" in said(http.get("/login").text)


def test_a_part_of_a_page_and_a_stream_are_refused_without_a_way_around(http: Http) -> None:
    assert http.get("/jobs", headers={"x-fragment": "main"}).status_code == 401
    assert http.get("/live").status_code == 401
    assert http.get("/jobs/1/live").status_code == 401


def test_a_token_lets_one_in(http: Http, client: Client) -> None:
    secret, _ = make_token(client, "ada", Role.VIEWER)
    answer = log_in(http, secret, next="/jobs?status=failed")
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs?status=failed")
    cookie = answer.headers["set-cookie"].lower()
    assert f"tenure_session={secret}".lower() in cookie
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "path=/" in cookie
    assert "max-age" not in cookie
    assert "expires" not in cookie
    assert "secure" not in cookie
    assert "ada viewer" in said(Visitor(http, secret).sees("/jobs"))


def test_the_cookie_is_for_https_alone_where_that_is_spoken(client: Client, database: str) -> None:
    secret, _ = make_token(client, "ada", Role.VIEWER)
    with page(client, "https://tenure") as http:
        assert "; secure" in log_in(http, secret).headers["set-cookie"].lower()


@pytest.mark.parametrize("secret", ["", "x", "tenure_", f"tenure_{'x' * 43}", "tenure_\u00fc"])
def test_a_wrong_token_is_told_as_a_sentence(http: Http, secret: str) -> None:
    answer = log_in(http, secret)
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert "This token is not valid" in said(answer.text)


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "x",
        "\n/",
    ],
)
def test_nobody_is_sent_elsewhere_after_the_login(
    http: Http, client: Client, elsewhere: str
) -> None:
    secret, _ = make_token(client, "ada", Role.VIEWER)
    assert log_in(http, secret, next=elsewhere).headers["location"] == "/"


def test_another_site_cannot_log_somebody_in(http: Http, client: Client) -> None:
    secret, _ = make_token(client, "ada", Role.VIEWER)
    for header in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
        answer = http.as_(header).send("POST", "/login", data={"token": secret})
        assert answer.status_code == 403, header


def test_whoever_logs_out_is_out(vic: Visitor) -> None:
    answer = vic.does("/logout")
    assert answer.status_code == 303
    assert 'tenure_session=""' in answer.headers["set-cookie"]


def test_a_session_ends_when_its_token_is_revoked(http: Http, client: Client) -> None:
    secret, token = make_token(client, "ada", Role.ADMIN)
    ada = Visitor(http, secret)
    ada.sees("/jobs")
    client.store.revoke_token(token.id)
    eventually(lambda: ada.see("/jobs").status_code == 303, within=TRUSTED_FOR + 5)


def test_the_api_takes_no_cookie_and_the_page_no_header(http: Http, client: Client) -> None:
    secret, _ = make_token(client, "ada", Role.ADMIN)
    cookie = {"cookie": f"tenure_session={secret}"}
    bearer = {"authorization": f"Bearer {secret}"}
    assert http.get("/api/jobs", headers=cookie).status_code == 401
    assert http.post("/api/queues/q/pause", headers=cookie).status_code == 401
    assert http.get("/jobs", headers=bearer).status_code == 303


def test_a_page_that_is_open_to_all_needs_no_login_but_its_forms_are_its_own(
    client: Client, store: Store
) -> None:
    job = make_job(store, owner="anonymous")
    with page(client, open_to=Role.OPERATOR) as http:
        answer = http.as_({}).get(f"/jobs/{job}")
        assert f"/jobs/{job}/cancel" in actions(answer.text)
        key = answer.headers["set-cookie"].partition(";")[0]
        assert key.startswith("tenure_form=")
        token = answer.text.partition('name="csrf" value="')[2][:64]
        fields = {"csrf": token, "reason": "no"}
        path = f"/jobs/{job}/cancel"
        assert http.send("POST", path, data=fields).status_code == 403
        done = http.send("POST", path, data=fields, headers={"cookie": key})
        assert done.status_code == 303
    assert store.show(job).cancelled_by == "anonymous"


def test_it_can_be_mounted_under_any_path(client: Client, store: Store) -> None:
    job = make_job(store)
    service = FastAPI()
    service.mount("/ops/tenure", create_app(client))
    secret, _ = make_token(client, "root", Role.ADMIN)
    with asking(service) as http:
        led = http.get("/ops/tenure/jobs").headers["location"]
        assert led == "/ops/tenure/login?next=%2Fjobs"
        sent = {"token": secret, "next": "/jobs"}
        answer = http.as_({}).send("POST", "/ops/tenure/login", data=sent)
        assert answer.headers["location"] == "/ops/tenure/jobs"
        assert "Path=/ops/tenure/;" in answer.headers["set-cookie"]
        cookie = {"cookie": f"tenure_session={secret}"}
        text = http.get(f"/ops/tenure/jobs/{job}", headers=cookie).text
        assert f"/ops/tenure/jobs/{job}/cancel" in actions(text)
        assert f'data-live="/ops/tenure/jobs/{job}/live"' in text
        assert http.get("/ops/tenure/static/live.js").status_code == 200
        assert http.get("/ops/tenure/api/jobs").status_code == 401


def test_two_people_are_told_apart(visits: Visits) -> None:
    assert "ann operator" in said(visits("ann").sees("/jobs"))
    assert "vic viewer" in said(visits("vic", Role.VIEWER).sees("/jobs"))
