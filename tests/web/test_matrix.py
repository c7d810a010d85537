"""Every route, asked by everybody: nobody gets more than is theirs, and refusals are on record."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import Route

from tenure.config import Settings
from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.principal import Role
from tenure.domain.tenant import Tenant
from tenure.web import create_app
from tests.apps.paged import app as paged
from tests.conftest import _database
from tests.web.cases import CASES, MARK, OPEN, OWNER, Case, Scene
from tests.web.http_client import Http, asking

NOBODY = ("no token", "a bad token", "an expired token", "a revoked token")
PEOPLE = {
    "a viewer": ("vic", Role.VIEWER, "default"),
    "an operator": ("otto", Role.OPERATOR, "default"),
    "the owner": (OWNER, Role.OPERATOR, "default"),
    "an admin": ("root", Role.ADMIN, "default"),
    "another tenant's admin": ("boss", Role.ADMIN, "acme"),
}


class Everybody:
    def __init__(self, client: Client, app: FastAPI, http: Http, folder: Path) -> None:
        self.client = client
        self.app = app
        self.http = http
        self.scene = Scene(client, folder)
        self.headers = self._tokens()

    def _tokens(self) -> dict[str, dict[str, str]]:
        expired, _ = make_token(self.client, "old", Role.ADMIN, lifetime=timedelta(microseconds=1))
        revoked, token = make_token(self.client, "gone", Role.ADMIN)
        self.client.store.revoke_token(token.id)
        secrets = {
            who: make_token(self.client, name, role, tenant=tenant)[0]
            for who, (name, role, tenant) in PEOPLE.items()
        }
        secrets |= {
            "a bad token": f"tenure_{'x' * 43}",
            "an expired token": expired,
            "a revoked token": revoked,
        }
        return {"no token": {}} | {
            who: {"authorization": f"Bearer {secret}"} for who, secret in secrets.items()
        }

    def refusals(self, tenant: str, above: int = 0) -> tuple[int, list[str]]:
        """The last row of the audit trail, and who was refused what by request since another."""
        rows = self.client.store_of(tenant).audit_log(n=10)
        refused = [
            row.actor
            for row in rows
            if row.id > above and (row.verb, row.via) == ("refuse", "rest")
        ]
        return max((row.id for row in rows), default=0), refused


@pytest.fixture(scope="module")
def everybody(
    server: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Everybody]:
    folder = tmp_path_factory.mktemp("artifacts")
    with (
        contextmanager(_database)(server, template) as url,
        Client(url, settings=Settings(artifacts=str(folder))) as client,
    ):
        client.migrate(Tenant("acme"))
        client.schedules = paged.schedules
        app = create_app(client)
        with asking(app) as http:
            yield Everybody(client, app, http, folder)


def named(app: FastAPI) -> set[str]:
    return {
        f"{method} {route.path}"
        for route in app.routes
        if isinstance(route, APIRoute | Route)
        for method in route.methods or ()
        if method != "HEAD"
    }


def test_no_route_is_left_out(everybody: Everybody) -> None:
    assert named(everybody.app) == OPEN | CASES.keys()


@pytest.mark.parametrize("route", sorted(OPEN))
def test_what_is_open_says_only_yes(everybody: Everybody, route: str) -> None:
    answer = everybody.http.get(route.partition(" ")[2])
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize("route", CASES)
def test_nobody_gets_more_than_is_theirs(everybody: Everybody, route: str) -> None:
    case, method = CASES[route], route.partition(" ")[0]
    for who, headers in everybody.headers.items():
        tenant = PEOPLE[who][2] if who in PEOPLE else "default"
        path, body = case.make(everybody.scene)
        before, _ = everybody.refusals(tenant)
        if case.streams:
            status, text = everybody.http.opens(path, headers)
        else:
            answer = everybody.http.as_(headers).send(
                method, path, **({} if body is None else {"json": body})
            )
            status, text = answer.status_code, answer.text
        assert _is_right(case, who, status), f"{who}: {method} {path} -> {status} {text[:300]}"
        _, refused = everybody.refusals(tenant, before)
        assert refused == ([PEOPLE[who][0]] if status == 403 else []), f"{who} {path}: {text}"
        if who == "another tenant's admin" and MARK not in path:
            assert MARK not in text, path


def _is_right(case: Case, who: str, status: int) -> bool:
    if who in NOBODY:
        return status == 401
    if who == "another tenant's admin":
        return status in case.elsewhere
    role = PEOPLE[who][1]
    if not role.includes(case.needs) or (case.mine and who == "an operator"):
        return status == 403
    return status in case.granted
