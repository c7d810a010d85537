"""The description of the API at /openapi.json, derived from the models of the endpoints."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from tenure.errors import (
    IllegalTransition,
    InputRefused,
    JobNotFound,
    NotAllowed,
    NotAnswered,
    NotRecognized,
    StoreUnavailable,
)
from tenure.web.errors import Error, Problem
from tenure.web.examples import body_example, example_of

JSON = "application/json"

DESCRIPTION = """Enqueue, inspect and stop jobs, and manage what they need.

Every request needs a token (`Authorization: Bearer tenure_...`), except `/healthz` and `/readyz`.
The token identifies the caller, its role and its tenant. Lists are sorted newest first; the header
`Link` names the next page. Every error has the form
`{"error": {"type": "...", "message": "a sentence"}}`."""

_ERRORS: Mapping[int, tuple[str, str]] = {
    401: (NotRecognized.__name__, "the token is not valid"),
    403: (NotAllowed.__name__, "job 7 belongs to ada; only ada or an admin may cancel it"),
    404: (JobNotFound.__name__, "there is no job 7"),
    409: (IllegalTransition.__name__, "cannot cancel a job that is completed"),
    413: ("TooLarge", "the body is larger than the maximum of 1114112 bytes"),
    414: ("TooLong", "the URL is longer than the maximum of 8192 bytes"),
    415: ("NotJSON", "the body must be application/json"),
    422: (InputRefused.__name__, "limit: input should be less than or equal to 1000"),
    429: ("TooMany", "ada already has 20 event streams open; close one first"),
    503: (StoreUnavailable.__name__, "the database cannot be reached, or went away"),
    504: (NotAnswered.__name__, "the worker of job 7 has not answered within 5 s"),
}
_ALWAYS = (401, 403, 404, 414, 422, 503, 504)
_WITH_BODY = (413, 415)

_models: list[
    Any
] = []  # all that is taken or returned; named together, so that no name is used twice
_MODEL = "#/models/"


def operation(
    answers: Mapping[int, Any],
    *,
    errors: tuple[int, ...] = (),
    body: Any = None,
    media: str | None = None,
) -> dict[str, Any]:
    """Describe the responses and the body of an endpoint, as arguments for its route.

    The first of ``answers`` is the usual one, and has the example. With ``media`` it is not JSON.
    """
    usual = next(iter(answers))
    responses: dict[int | str, dict[str, Any]] = {}
    for code, model in answers.items():
        described_by = HTTPStatus(code).phrase if code >= 300 else _summary(model)
        responses[code] = {"description": described_by}
        if model is not None:
            responses[code]["content"] = {JSON: {"schema": _schema(model)}}
    if media is not None:
        responses[usual]["content"] = {media: {"schema": {"type": "string"}}}
    elif answers[usual] is not None:
        responses[usual]["content"][JSON]["example"] = example_of(answers[usual])
    for code in sorted({*_ALWAYS, *errors, *(_WITH_BODY if body else ())}):
        responses[code] = _failure(code)
    described: dict[str, Any] = {"responses": responses}
    if body is not None:
        content = {"schema": _schema(body), **body_example(body)}
        described["openapi_extra"] = {
            "requestBody": {"content": {JSON: content}, "required": False}
        }
    return described


def describe(app: FastAPI) -> None:
    """Serve the description of all endpoints at /openapi.json."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schemas, components = msgspec.json.schema_components(
                _models, ref_template="#/components/schemas/{name}"
            )
            document = get_openapi(
                title="Tenure",
                version=version("tenure"),
                description=DESCRIPTION,
                routes=app.routes,
            )
            _add_examples(app, document["paths"])
            document = _resolved(document, schemas)
            document.setdefault("components", {}).setdefault("schemas", {}).update(components)
            document["components"]["securitySchemes"] = {
                "token": {"type": "http", "scheme": "bearer"}
            }
            document["security"] = [{"token": []}]
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _add_examples(app: FastAPI, paths: dict[str, Any]) -> None:
    """Add the examples with the fields that are null: FastAPI leaves those out."""
    for route in app.routes:
        if isinstance(route, APIRoute) and route.include_in_schema:
            for method in route.methods or ():
                described = paths[route.path_format][method.lower()]["responses"]
                for code, response in route.responses.items():
                    for media, content in response.get("content", {}).items():
                        described[str(code)]["content"][media].update(content)


def _schema(model: Any) -> dict[str, Any]:
    _models.append(model)
    return {"$ref": f"{_MODEL}{len(_models) - 1}"}


def _resolved(value: Any, schemas: Sequence[Any]) -> Any:
    match value:
        case {"$ref": str(reference)} if reference.startswith(_MODEL):
            return schemas[int(reference.removeprefix(_MODEL))]
        case dict():
            return {name: _resolved(inner, schemas) for name, inner in value.items()}
        case list():
            return [_resolved(inner, schemas) for inner in value]
        case _:
            return value


def _summary(model: Any) -> str:
    text = getattr(model, "__doc__", None) if isinstance(model, type) else None
    return (text or "Done").partition("\n")[0]


def _failure(code: int) -> dict[str, Any]:
    kind, message = _ERRORS[code]
    example = msgspec.to_builtins(Error(Problem(kind, message)))
    return {
        "description": message.capitalize(),
        "content": {JSON: {"schema": _schema(Error), "example": example}},
    }
