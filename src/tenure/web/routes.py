"""The declaration of an endpoint: the signature of its handler says what it takes and returns."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, NewType, get_args, get_origin, get_type_hints

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from tenure.web.authentication import caller_of
from tenure.web.context import JobId, find_job, state_of
from tenure.web.limits import read_body
from tenure.web.openapi import operation
from tenure.web.responses import JsonResponse

Handler = Callable[..., Awaitable[Any]]
JobNumber = NewType("JobNumber", int)  # a path parameter that names a job by its id or its key

_REQUEST = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)


class Routes:
    """The endpoints of one noun.

    A handler is given the ``caller``, the ``request`` and the decoded ``body`` if it has a
    parameter of that name, and the id of the job for a parameter of the type JobNumber. FastAPI
    fills in the others. The value that it returns is sent as JSON with ``status``. The API
    description follows the annotations; ``returns`` replaces that of the return value.
    """

    def __init__(self, tag: str, prefix: str = "") -> None:
        self.router = APIRouter(
            prefix=prefix, tags=[tag], generate_unique_id_function=lambda route: route.name
        )

    def get(self, path: str, **declared: Any) -> Callable[[Handler], Handler]:
        return self._declare("GET", path, **declared)

    def post(self, path: str, **declared: Any) -> Callable[[Handler], Handler]:
        return self._declare("POST", path, **declared)

    def put(self, path: str, **declared: Any) -> Callable[[Handler], Handler]:
        return self._declare("PUT", path, **declared)

    def delete(
        self, path: str, errors: tuple[int, ...] = (), **declared: Any
    ) -> Callable[[Handler], Handler]:
        return self._declare("DELETE", path, errors=(415, *errors), **declared)

    def _declare(
        self,
        method: str,
        path: str,
        *,
        status: int = 200,
        returns: Any = None,
        also: Mapping[int, Any] | None = None,
        errors: tuple[int, ...] = (),
        media: str | None = None,
    ) -> Callable[[Handler], Handler]:
        def declare(handler: Handler) -> Handler:
            signature = inspect.signature(handler)
            body = signature.parameters.get("body")
            self.router.add_api_route(
                path,
                _adapt(handler, signature, status),
                methods=[method],
                status_code=status,
                response_model=None,
                response_class=Response,
                **operation(
                    {status: returns or _returned(signature), **(also or {})},
                    errors=errors,
                    body=None if body is None else body.annotation,
                    media=media,
                ),
            )
            return handler

        return declare


def _adapt(handler: Handler, signature: inspect.Signature, status: int) -> Handler:
    """Return the handler as FastAPI calls it."""
    parameters = signature.parameters
    jobs = [name for name, each in parameters.items() if each.annotation is JobNumber]

    async def endpoint(*, request: Request, **given: Any) -> Response:
        for name in jobs:
            given[name] = await caller_of(request).aperform(find_job(given[name]))
        if "caller" in parameters:
            given["caller"] = caller_of(request)
        if "request" in parameters:
            given["request"] = request
        if "body" in parameters:
            given["body"] = await read_body(
                request, parameters["body"].annotation, state_of(request).limits
            )
        answer = await handler(**given)
        return answer if isinstance(answer, Response) else JsonResponse(answer, status)

    theirs = [
        each.replace(
            kind=inspect.Parameter.KEYWORD_ONLY,
            annotation=JobId if each.name in jobs else each.annotation,
        )
        for each in _single(parameters.values())
        if each.name not in ("request", "caller", "body")
    ]
    endpoint.__name__, endpoint.__doc__ = handler.__name__, handler.__doc__
    endpoint.__signature__ = inspect.Signature([_REQUEST, *theirs])  # type: ignore[attr-defined]
    return endpoint


def _single(parameters: Iterable[inspect.Parameter]) -> Iterator[inspect.Parameter]:
    """Yield the parameters; first, in place of a ``**``, those of its TypedDict, all optional."""
    for each in sorted(parameters, key=lambda each: each.kind is not each.VAR_KEYWORD):
        if each.kind is not each.VAR_KEYWORD:
            yield each
            continue
        [options] = get_args(each.annotation)
        for name, kind in get_type_hints(options, include_extras=True).items():
            yield inspect.Parameter(name, each.KEYWORD_ONLY, default=None, annotation=kind)


def _returned(signature: inspect.Signature) -> Any:
    kind = signature.return_annotation
    if get_origin(kind) is JsonResponse:
        return get_args(kind)[0]
    return None if isinstance(kind, type) and issubclass(kind, Response) else kind
