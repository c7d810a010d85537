"""Log in with a token and log out; everybody else is turned away."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from tenure.control.client import Client
from tenure.control.tokens import digest, make_login_code, make_token
from tenure.domain.principal import Role
from tenure.store.store import Store
from tenure.web import create_app
from tenure.web.principals import TRUSTED_FOR
from tests.factories import make_job
from tests.web.dashboard.conftest import Visits
from tests.web.dashboard.visitor import Visitor, actions, said, session_of
from tests.web.http_client import Http, asking
from tests.workers import eventually


@contextmanager
def page(client: Client, base_url: str = "http://localhost", **options: Any) -> Iterator[Http]:
    with asking(create_app(client, **options), base_url) as http:
        yield http


def log_in(http: Http, secret: str, **more: str) -> Any:
    # With a new client: its cookie must not stay in the client of later requests.
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
    assert "tenure_session=" in cookie
    assert secret.lower() not in cookie
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


def test_the_cookie_is_for_https_alone_where_a_proxy_speaks_it(http: Http, client: Client) -> None:
    """The browser's Origin header gives the scheme; no header of a proxy is needed."""
    secret, _ = make_token(client, "ada", Role.VIEWER)
    proxied = {"origin": "https://localhost", "sec-fetch-site": "same-origin"}
    answer = http.as_(proxied).send("POST", "/login", data={"token": secret})
    assert answer.status_code == 303
    assert "; secure" in answer.headers["set-cookie"].lower()


@pytest.mark.parametrize("secret", ["", "x", "tenure_", f"tenure_{'x' * 43}", "tenure_\u00fc"])
def test_a_wrong_token_is_told_as_a_sentence(http: Http, secret: str) -> None:
    answer = log_in(http, secret)
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert "This token is not valid" in said(answer.text)


def test_a_link_logs_in_once_and_from_this_machine_alone(http: Http, client: Client) -> None:
    secret, _ = make_token(client, "ada", Role.VIEWER)
    code = make_login_code(client, secret)
    assert code not in http.get("/login").text
    form = {"data": {"code": code}}
    elsewhere = asyncio.run(_from("203.0.113.7", client, code))
    assert elsewhere == 401
    answer = http.as_({}).send("POST", "/login", **form)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "tenure_session=" in answer.headers["set-cookie"]
    again = http.as_({}).send("POST", "/login", **form)
    assert again.status_code == 401
    assert "A link works once, within an hour" in said(again.text)


async def _from(address: str, client: Client, code: str) -> int:
    transport = httpx.ASGITransport(create_app(client), client=(address, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as browser:
        answer = await browser.post("/login", data={"code": code})
        await client.aclose()
        return answer.status_code


def test_the_login_page_says_where_a_token_is(http: Http) -> None:
    text = said(http.get("/login").text)
    assert "cat .tenure/token" in text
    assert "tenure token create NAME --role operator" in text


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


def test_whoever_logs_out_is_out_and_nobody_else(http: Http, client: Client) -> None:
    secret, _ = make_token(client, "vic", Role.VIEWER)
    here, there = Visitor(http, secret), Visitor(http, secret)
    answer = here.does("/logout")
    assert answer.status_code == 303
    assert 'tenure_session=""' in answer.headers["set-cookie"]
    assert here.see("/jobs").status_code == 303, "a kept copy of the cookie is worthless"
    assert there.see("/jobs").status_code == 200, "another browser stays logged in"
    bearer = {"authorization": f"Bearer {secret}"}
    assert http.get("/api/jobs", headers=bearer).status_code == 200, "and the token is as good"


def test_a_session_that_was_ended_elsewhere_is_soon_worth_nothing(
    http: Http, client: Client
) -> None:
    secret, _ = make_token(client, "vic", Role.VIEWER)
    vic = Visitor(http, secret)
    vic.sees("/jobs")
    session = vic.headers["cookie"].partition("=")[2]
    assert client.store.log_out(digest(session)) == {"ended": True}
    eventually(lambda: vic.see("/jobs").status_code == 303, within=TRUSTED_FOR + 5)


def test_a_session_ends_when_its_token_is_revoked(http: Http, client: Client) -> None:
    secret, token = make_token(client, "ada", Role.ADMIN)
    ada = Visitor(http, secret)
    ada.sees("/jobs")
    client.store.revoke_token(token.id)
    eventually(lambda: ada.see("/jobs").status_code == 303, within=TRUSTED_FOR + 5)


def test_the_api_takes_no_cookie_and_the_page_no_header(http: Http, client: Client) -> None:
    secret, _ = make_token(client, "ada", Role.ADMIN)
    session = session_of(http, secret)
    cookie = {"cookie": f"tenure_session={session}"}
    bearer = {"authorization": f"Bearer {secret}"}
    as_bearer = {"authorization": f"Bearer {session}"}
    assert http.get("/api/jobs", headers=as_bearer).status_code == 401
    assert http.get("/jobs", headers={"cookie": f"tenure_session={secret}"}).status_code == 303
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
        cookie = {"cookie": f"tenure_session={answer.cookies['tenure_session']}"}
        text = http.get(f"/ops/tenure/jobs/{job}", headers=cookie).text
        assert f"/ops/tenure/jobs/{job}/cancel" in actions(text)
        assert f'data-live="/ops/tenure/jobs/{job}/live"' in text
        assert http.get("/ops/tenure/static/live.js").status_code == 200
        assert http.get("/ops/tenure/api/jobs").status_code == 401


def test_two_people_are_told_apart(visits: Visits) -> None:
    assert "ann operator" in said(visits("ann").sees("/jobs"))
    assert "vic viewer" in said(visits("vic", Role.VIEWER).sees("/jobs"))
