"""The API as it says it is: what it tells of itself, and thousands of requests made from that."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import hypothesis
import msgspec
import pytest
import requests
import schemathesis
from fastapi import FastAPI
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.requests import Request

from tenure.control.client import Client
from tenure.domain.job import NewJob
from tenure.domain.principal import Principal, Role
from tenure.web import create_app
from tenure.web.examples import FIELDS
from tests.conftest import _database
from tests.web.served import served
from tests.workers import ROOT

EXAMPLES = int(os.environ.get("TENURE_TEST_API_EXAMPLES", "20"))  # of each kind, for each operation
SLOW = {"create_tenant"}  # each makes a schema
STREAMS = {"job_events", "cancellation_events", "events"}  # they may never end
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


async def root(request: Request) -> Principal:
    """Whatever is revoked, it is root who asks."""
    return Principal("root", Role.ADMIN)


@pytest.fixture(scope="module")
def app(server: str, template: str) -> Iterator[FastAPI]:
    with contextmanager(_database)(server, template) as url, Client(url) as client:
        client.store.enqueue([NewJob(task="work", key=f"{number}") for number in range(20)])
        yield create_app(client, authenticate=root)


@pytest.fixture(scope="module")
def url(app: FastAPI) -> Iterator[str]:
    with served(app) as url:
        yield url


@pytest.fixture(scope="module")
def told(app: FastAPI) -> dict[str, Any]:
    return app.openapi()


@pytest.fixture(scope="module")
def schema(told: dict[str, Any]) -> Any:
    return schemathesis.openapi.from_dict(told)


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as session:
        # As a program does: what a browser may have sent needs a content type as well.
        session.headers["authorization"] = "Bearer of-the-hook"
        yield session


def operations(told: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in told["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


OPERATIONS = [
    operation["operationId"]
    for _, _, operation in operations(create_app(Client("postgresql://nowhere")).openapi())
]


def test_every_operation_says_what_it_does_and_how_it_fails(told: dict[str, Any]) -> None:
    assert len(set(OPERATIONS)) == len(OPERATIONS) > 50
    assert told["security"] == [{"token": []}]
    for method, path, operation in operations(told):
        where = f"{method} {path}"
        assert operation["description"], where
        assert {"401", "403", "422", "503"} <= operation["responses"].keys(), where
        for code, response in operation["responses"].items():
            if code >= "400":
                content = response["content"]["application/json"]
                assert content["schema"] == {"$ref": "#/components/schemas/Error"}, where
                assert content["example"]["error"]["message"], where
        if method in ("post", "put"):
            assert operation["requestBody"]["content"]["application/json"]["schema"], where


def test_every_answer_has_an_example_that_is_one(told: dict[str, Any]) -> None:
    import jsonschema_rs

    for method, path, operation in operations(told):
        for code, response in operation["responses"].items():
            content = response.get("content", {}).get("application/json")
            if content is None or (code != "200" and "example" not in content):
                continue
            schema = {**content["schema"], "components": told["components"]}
            where = f"{method} {path} {code}"
            if "example" in content:
                jsonschema_rs.validate(schema, content["example"])
            else:
                assert operation["operationId"] in ("enqueue", "create_tenant"), where


def test_no_example_is_listed_for_a_field_that_is_not_there(told: dict[str, Any]) -> None:
    known = set()
    for model, schema in told["components"]["schemas"].items():
        for field in schema.get("properties", {}):
            known |= {field, f"{model.rpartition('.')[2]}.{field}"}
    assert FIELDS.keys() <= known


def test_references_lead_somewhere(told: dict[str, Any]) -> None:
    text = msgspec.json.encode(told).decode()
    for part in text.split('"#/components/schemas/')[1:]:
        assert part.partition('"')[0] in told["components"]["schemas"]


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name not in STREAMS])
def test_whatever_is_sent_is_answered_as_was_said(
    schema: Any, session: requests.Session, url: str, name: str
) -> None:
    operation = schema.find_operation_by_id(name)
    examples = 2 if name in SLOW else EXAMPLES
    for mode in schemathesis.GenerationMode:

        @hypothesis.settings(
            max_examples=examples,
            derandomize=True,
            deadline=None,
            database=None,
            suppress_health_check=list(hypothesis.HealthCheck),
            phases=[hypothesis.Phase.generate],
        )
        @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
        def asked(case: Any) -> None:
            answer = case.call(base_url=url, session=session, timeout=30)
            case.validate_response(answer, checks=CHECKS)

        try:
            asked()
        except hypothesis.errors.Unsatisfiable:
            assert mode is schemathesis.GenerationMode.NEGATIVE  # there is no wrong way to ask


def test_every_path_is_in_the_documentation(told: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "rest.md").read_text()
    for method, path, _ in operations(told):
        assert f"`{method.upper()} {path}`" in page
