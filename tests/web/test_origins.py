"""Requests that a browser sends for other sites are refused where no token is needed."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.requests import Request

from tenure.config import Settings
from tenure.control.client import Client
from tenure.domain.principal import Principal, Role
from tenure.store.store import Store
from tenure.web import create_app
from tests.web.conftest import Bearer
from tests.web.http_client import problem
from tests.web.served import served

TOKEN = {"name": "mallory", "role": "admin"}
JSON = {"content-type": "application/json"}


@pytest.fixture
def open_url(client: Client) -> Iterator[str]:
    """Serve without tokens: every caller is an admin."""
    with served(create_app(client, open_to=Role.ADMIN)) as url:
        yield url


def is_paused(store: Store) -> bool:
    return store.statistics().queues["default"].paused


def names(store: Store) -> list[str]:
    return [token.name for token in store.tokens()]


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "http://localhost"},
        {"origin": ""},
    ],
)
def test_another_site_changes_nothing(headers: dict[str, str], open_url: str, store: Store) -> None:
    path = f"{open_url}/api/tokens"
    answer = httpx.post(path, json=TOKEN, headers=headers)
    assert problem(answer)[:2] == (403, "NotAllowed")
    assert names(store) == []
    assert httpx.put(f"{open_url}/api/strategies/x", json={}, headers=headers).status_code == 403
    assert httpx.delete(f"{open_url}/api/strategies/x", headers=headers).status_code == 403


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
@pytest.mark.parametrize("path", ["/api/queues/default/pause", "/targets/t/jobs/1/resume/"])
def test_a_change_without_a_body_needs_the_type_of_json(
    path: str, kind: str | None, open_url: str, store: Store
) -> None:
    headers = {} if kind is None else {"content-type": kind}
    code, name, _ = problem(httpx.post(f"{open_url}{path}", headers=headers))
    assert (code, name) == (415, "NotJSON")
    assert store.audit_log() == ()


def test_every_change_needs_the_type_of_json(open_url: str) -> None:
    assert problem(httpx.delete(f"{open_url}/api/strategies/x"))[0] == 415
    assert problem(httpx.delete(f"{open_url}/api/strategies/x", headers=JSON))[0] == 404


def test_the_same_site_and_programs_may_act(open_url: str, store: Store) -> None:
    host = urlsplit(open_url).netloc
    for number, headers in enumerate(
        (
            {},
            {"origin": open_url},
            {"origin": f"http://localhost:{urlsplit(open_url).port}", "x-forwarded-host": host},
            {"sec-fetch-site": "same-origin", "origin": open_url},
            {"sec-fetch-site": "none"},
        )
    ):
        if "x-forwarded-host" in headers:
            headers["host"] = f"localhost:{urlsplit(open_url).port}"
        body = {"name": f"ada{number}", "role": "viewer"}
        answer = httpx.post(f"{open_url}/api/tokens", json=body, headers=headers)
        assert answer.status_code == 201, (headers, answer.text)
    assert len(names(store)) == 5


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8321", "localhost.evil.example", "127.0.0.1.evil.example", ""],
)
def test_a_name_that_leads_here_is_not_enough(host: str, open_url: str, store: Store) -> None:
    """DNS rebinding: a site points its own name here, so a browser treats both as one site."""
    headers = {"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}
    answer = httpx.post(f"{open_url}/api/tokens", json=TOKEN, headers=headers)
    code, _, message = problem(answer)
    assert (code, "TENURE_HOSTS" in message) == (403, True)
    assert problem(httpx.get(f"{open_url}/api/jobs", headers={"host": host}))[0] == 403
    assert httpx.get(f"{open_url}/jobs", headers={"host": host}).status_code == 403
    assert names(store) == []


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:9", "a.localhost", "10.1.2.3:80", "[::1]", "[fe80::1]:8321"]
)
def test_loopback_and_addresses_are_known(host: str, open_url: str) -> None:
    assert httpx.get(f"{open_url}/api/jobs", headers={"host": host}).status_code == 200


def test_the_names_of_the_setting_are_known(database: str, store: Store) -> None:
    settings = Settings(hosts="jobs.example.org,jobs")
    with (
        Client(database, settings=settings) as client,
        served(create_app(client, open_to=Role.VIEWER, hosts=["bound.example"])) as url,
    ):
        for host, code in (
            ("jobs.example.org", 200),
            ("Jobs.Example.org:443", 200),
            ("jobs", 200),
            ("bound.example", 200),
            ("example.org", 403),
        ):
            assert httpx.get(f"{url}/api/jobs", headers={"host": host}).status_code == code, host
        # Where host names are set, requests with a cookie must use them too.
        assert httpx.post(f"{url}/login", headers={"host": "evil.example"}).status_code == 403


def test_whoever_a_hook_knows_is_as_careful(client: Client, store: Store) -> None:
    async def root(request: Request) -> Principal:
        return Principal("root", Role.ADMIN)

    with served(create_app(client, authenticate=root)) as url:
        path = f"{url}/api/queues/default/pause"
        assert httpx.post(path).status_code == 415
        assert httpx.post(path, json={}, headers={"origin": "http://a.b"}).status_code == 403
        assert httpx.post(path, json={}, headers={"host": "evil.example"}).status_code == 403
        evil = {"host": "evil.example", "authorization": "Bearer x"}
        assert httpx.post(path, json={}, headers=evil).status_code == 403
        assert httpx.post(path, json={}).status_code == 200


def test_a_token_is_enough_whatever_the_host_and_without_a_body(
    client: Client, bearer: Bearer, store: Store
) -> None:
    headers = bearer("root", Role.ADMIN)
    with served(create_app(client)) as url:
        for more in ({}, {"host": "jobs.example.org"}, {"origin": "https://console.example.org"}):
            answer = httpx.post(f"{url}/api/queues/default/pause", headers={**headers, **more})
            assert answer.status_code == 200, answer.text
        assert httpx.get(f"{url}/healthz", headers={"host": "any"}).status_code == 200


def test_a_link_on_another_site_leads_to_the_page(open_url: str) -> None:
    visit = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert httpx.get(f"{open_url}/jobs", headers=visit).status_code == 200
    image = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert httpx.get(f"{open_url}/jobs", headers=image).status_code == 403
    assert httpx.get(f"{open_url}/api/jobs?text=x", headers=image).status_code == 403
