"""What the API says of itself: the structs it takes and gives, with examples."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import msgspec
from fastapi import APIRouter, FastAPI
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

JSON = "application/json"

DESCRIPTION = """Jobs, and all that one does to them.

Every request needs a token (`Authorization: Bearer tenure_...`), except for `/healthz` and
`/readyz`. The token says who asks, in which role and in which tenant. Lists come newest first; the
header `Link` names the next page. Whatever fails is answered with
`{"error": {"type": "...", "message": "a whole sentence"}}`."""

_WRONG: Mapping[int, tuple[str, str]] = {
    401: (NotRecognized.__name__, "the token is not valid"),
    403: (NotAllowed.__name__, "job 7 belongs to ada; only ada or an admin may cancel it"),
    404: (JobNotFound.__name__, "there is no job 7"),
    409: (IllegalTransition.__name__, "cannot cancel a job that is completed"),
    413: ("TooLarge", "the body is larger than the 1114112 bytes that are taken"),
    414: ("TooLong", "the URL is longer than the 8192 bytes that are taken"),
    415: ("NotJSON", "the body is not application/json, and nothing else is read"),
    422: (InputRefused.__name__, "limit: input should be less than or equal to 1000"),
    429: ("TooMany", "ada has 20 streams of events open; close one first"),
    503: (StoreUnavailable.__name__, "the database cannot be reached, or went away"),
    504: (NotAnswered.__name__, "the worker of job 7 has not answered within 5 s"),
}
_ALWAYS = (401, 403, 404, 414, 422, 503, 504)
_WITH_BODY = (413, 415)

_kinds: list[Any] = []  # all that is taken or given; named together, so that no name means two
_KIND = "#/kinds/"


def router(tag: str, prefix: str = "") -> APIRouter:
    """Routes of one noun; each is known by the name of its function."""
    return APIRouter(
        prefix=prefix, tags=[tag], generate_unique_id_function=lambda route: route.name
    )


def says(
    answer: Any = None,
    *,
    status: int = 200,
    example: Any = None,
    also: Mapping[int, Any] | None = None,
    wrong: tuple[int, ...] = (),
    takes: Any = None,
    sent: Any = None,
    media: str | None = None,
) -> dict[str, Any]:
    """What a route takes and answers, for its decorator."""
    responses: dict[int | str, dict[str, Any]] = {}
    for code, kind in {status: answer, **(also or {})}.items():
        responses[code] = {"description": _described(kind)}
        if kind is not None:
            responses[code]["content"] = {JSON: {"schema": _schema(kind)}}
    if media is not None:
        responses[status]["content"] = {media: {"schema": {"type": "string"}}}
    if example is not None:
        responses[status]["content"][JSON]["example"] = example
    for code in sorted({*_ALWAYS, *wrong, *(_WITH_BODY if takes else ())}):
        responses[code] = _failure(code)
    told: dict[str, Any] = {"status_code": status, "responses": responses, "response_model": None}
    if takes is not None:
        content = {"schema": _schema(takes), **({"example": sent} if sent is not None else {})}
        told["openapi_extra"] = {"requestBody": {"content": {JSON: content}, "required": False}}
    return told


def describe(app: FastAPI) -> None:
    """Let the app tell all of it at /openapi.json."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schemas, components = msgspec.json.schema_components(
                _kinds, ref_template="#/components/schemas/{name}"
            )
            made = get_openapi(
                title="Tenure",
                version=version("tenure"),
                description=DESCRIPTION,
                routes=app.routes,
            )
            _give_examples(app, made["paths"])
            made = _resolved(made, schemas)
            made.setdefault("components", {}).setdefault("schemas", {}).update(components)
            made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            made["security"] = [{"token": []}]
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _give_examples(app: FastAPI, paths: dict[str, Any]) -> None:
    """Whole, with the fields that are null: FastAPI leaves those out."""
    for route in app.routes:
        if isinstance(route, APIRoute) and route.include_in_schema:
            for method in route.methods or ():
                told = paths[route.path_format][method.lower()]["responses"]
                for code, response in route.responses.items():
                    for media, content in response.get("content", {}).items():
                        told[str(code)]["content"][media].update(content)


def _schema(kind: Any) -> dict[str, Any]:
    _kinds.append(kind)
    return {"$ref": f"{_KIND}{len(_kinds) - 1}"}


def _resolved(value: Any, schemas: Sequence[Any]) -> Any:
    match value:
        case {"$ref": str(place)} if place.startswith(_KIND):
            return schemas[int(place.removeprefix(_KIND))]
        case dict():
            return {name: _resolved(inner, schemas) for name, inner in value.items()}
        case list():
            return [_resolved(inner, schemas) for inner in value]
        case _:
            return value


def _described(kind: Any) -> str:
    text = getattr(kind, "__doc__", None) if isinstance(kind, type) else None
    return (text or "Done").partition("\n")[0]


def _failure(code: int) -> dict[str, Any]:
    kind, message = _WRONG[code]
    example = msgspec.to_builtins(Error(Problem(kind, message)))
    return {
        "description": message.capitalize(),
        "content": {JSON: {"schema": _schema(Error), "example": example}},
    }
