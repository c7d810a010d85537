"""Authentication: by tokens, by a hook of the app, and without a token where that is allowed."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from starlette.requests import Request

from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.principal import Principal, Role
from tenure.domain.tenant import Tenant
from tenure.errors import NotRecognized
from tenure.store.store import Store
from tenure.web import create_app
from tenure.web.principals import TRUSTED_FOR
from tests.factories import make_job
from tests.web.conftest import Bearer
from tests.web.http_client import Http, asking, problem
from tests.workers import eventually


@contextmanager
def api(client: Client, **options: Any) -> Iterator[Http]:
    with asking(create_app(client, **options)) as http:
        yield http


@pytest.mark.parametrize(
    "header",
    [
        "Bearer", "Bearer ", "Basic cm9vdDo=", "tenure_x", "Bearer nothing", "bearer tenure_",
        f"Bearer tenure_{'x' * 43}", f"Bearer tenure_{'x' * 5000}", "Bearer tenure_\u00fc",
    ],
)  # fmt: skip
def test_an_invalid_token_is_refused(http: Http, header: str) -> None:
    answer = http.get("/api/jobs", headers={"authorization": header.encode("latin-1")})
    code, kind, message = problem(answer)
    assert (code, kind) == (401, "NotRecognized")
    assert answer.headers["www-authenticate"] == 'Bearer realm="tenure"'
    assert "tenure_" not in message


def test_without_a_token_every_path_answers_alike(http: Http) -> None:
    for path in ("/api/jobs/1", "/nothing", "/openapi.json", "/docs", "/healthz/x", "/healthz/"):
        assert http.get(path).status_code == 401, path


def test_a_revoked_token_stops_working_within_seconds(http: Http, client: Client) -> None:
    secret, token = make_token(client, "ada", Role.VIEWER)
    ada = http.as_({"authorization": f"Bearer {secret}"})
    assert ada.get("/api/jobs").status_code == 200
    client.store.revoke_token(token.id)
    eventually(lambda: ada.get("/api/jobs").status_code == 401, within=TRUSTED_FOR + 2)


def test_a_token_that_was_just_seen_costs_no_query(client: Client, bearer: Bearer) -> None:
    headers = bearer("ada", Role.VIEWER)
    with api(client) as http:
        sent: list[str] = []
        store = http.run(client.astore_of())
        send = store.send

        async def counted(call: Any) -> Any:
            sent.append(call.verb)
            return await send(call)

        store.send = counted  # type: ignore[method-assign]
        job = make_job(client.store)
        for _ in range(3):
            assert http.get(f"/api/jobs/{job}", headers=headers).status_code == 200
    assert sent == ["principal", "show", "show", "show"]


def test_tokens_expire(http: Http, client: Client) -> None:
    secret, _ = make_token(client, "ada", Role.ADMIN, lifetime=timedelta(microseconds=1))
    assert http.get("/api/jobs", headers={"authorization": f"Bearer {secret}"}).status_code == 401


def test_refused_requests_are_counted_and_not_audited(client: Client, store: Store) -> None:
    app = create_app(client)
    with asking(app) as http:
        for _ in range(3):
            http.get("/api/jobs", headers={"authorization": "Bearer tenure_guess"})
        assert app.state.tenure.authenticator.refused == 3
    assert store.audit_log() == ()


def test_no_token_is_ever_logged(
    http: Http, bearer: Bearer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        headers = bearer("ada", Role.ADMIN)
        http.get("/api/jobs", headers=headers)
        http.get("/api/jobs", headers={"authorization": "Bearer tenure_guess"})
        http.send("POST", "/api/jobs", content=b"{", headers=headers)
        made = http.post("/api/tokens", {"name": "bob", "role": "viewer"}, headers=headers)
    assert made.status_code == 201
    assert "tenure_" not in caplog.text.replace("tenure_test", "")


def test_an_authentication_hook_names_the_principal(client: Client, store: Store) -> None:
    client.migrate(Tenant("acme"))

    async def authenticate(request: Request) -> Principal | None:
        match request.headers.get("x-user"):
            case None:
                return None
            case "mallory":
                raise NotRecognized("mallory is not welcome")
            case name:
                return Principal(name, Role.OPERATOR, Tenant("acme"))

    with api(client, authenticate=authenticate) as http:
        made = http.post(
            "/api/jobs", {"task": "work", "unannounced": True}, headers={"x-user": "carl"}
        )
        assert made.status_code == 201
        refused = http.get("/api/jobs", headers={"x-user": "mallory"})
        assert problem(refused) == (401, "NotRecognized", "mallory is not welcome")
        assert http.get("/api/jobs").status_code == 401
        http.post("/api/jobs/1/cancel", headers={"x-user": "carl"})
    theirs = client.store_of("acme")
    assert theirs.show(1).owner == "carl"
    assert (theirs.audit_log()[0].actor, theirs.audit_log()[0].via) == ("carl", "rest")
    assert store.list_jobs() == ()


def test_tokens_work_beside_a_hook(client: Client, bearer: Bearer) -> None:
    async def nobody(request: Request) -> None:
        return None

    with api(client, authenticate=nobody) as http:
        headers = bearer("ada", Role.VIEWER)
        assert http.get("/api/jobs", headers=headers).status_code == 200


def test_a_failing_hook_admits_nobody_and_reveals_nothing(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(request: Request) -> Any:
        raise ValueError("the password of the directory is swordfish")

    async def mistaken(request: Request) -> Any:
        return "ada"

    for hook in (broken, mistaken):
        with api(client, authenticate=hook) as http:
            code, kind, message = problem(http.get("/api/jobs"))
            assert (code, kind) == (500, "InternalError")
            assert "swordfish" not in message
    assert "swordfish" in caplog.text
    assert "must return a Principal, not str" in caplog.text


def test_open_access_has_the_rights_of_the_given_role(client: Client, store: Store) -> None:
    job = make_job(store)
    with api(client, open_to=Role.VIEWER) as http:
        assert http.get(f"/api/jobs/{job}").status_code == 200
        code, _, message = problem(http.post(f"/api/jobs/{job}/cancel"))
        assert (code, message) == (
            403,
            "anonymous is a viewer and may not stop; an operator may",
        )
        bad = http.get("/api/jobs", headers={"authorization": "Bearer tenure_guess"})
        assert bad.status_code == 401
    [row] = store.audit_log()
    assert (row.actor, row.verb, row.via) == ("anonymous", "refuse", "rest")


def test_anonymous_operators_share_their_jobs_and_no_others(client: Client, store: Store) -> None:
    job = make_job(store, owner="ada")
    with api(client, open_to=Role.OPERATOR) as http:
        made = http.post("/api/jobs", {"task": "work", "unannounced": True}).json()["id"]
        assert store.show(made).owner == "anonymous"
        assert http.post(f"/api/jobs/{made}/cancel").status_code == 200
        assert problem(http.post(f"/api/jobs/{job}/cancel"))[0] == 403
