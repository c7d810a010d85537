"""What goes wrong, in one shape: {"error": {"type": ..., "message": a whole sentence}}."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from tenure.errors import InputRefused, NotRecognized, TenureError
from tenure.web.responses import JsonResponse

log = logging.getLogger("tenure.web")

_INTERNAL = 500
_UNAVAILABLE = 503
_TYPES = {
    400: "BadRequest",
    404: "NotFound",
    405: "MethodNotAllowed",
    413: "TooLarge",
    414: "TooLong",
    415: "NotJSON",
    429: "TooMany",
}


class Problem(msgspec.Struct, frozen=True):
    type: str  # the name of the error's class
    message: str  # a whole sentence


class Error(msgspec.Struct, frozen=True):
    """What every request that fails is answered with."""

    error: Problem


class Refused(HTTPException):
    """A request that is refused for itself, before anybody looks at what it is about."""


def refusal(error: TenureError) -> JsonResponse:
    """What is the caller's affair is said as it is; what went wrong inside is for the log."""
    status = error.http_status
    message = str(error)
    if status in (_INTERNAL, _UNAVAILABLE):
        log.warning("%s: %s", type(error).__name__, error)
        message = _sentence(type(error).__doc__ or "")
    return _answer(status, type(error).__name__, message, _headers(error))


def unexpected(error: Exception) -> JsonResponse:
    log.error("a request ended in an error that nobody expected", exc_info=error)
    why = "something went wrong here; the log of the server says what"
    return _answer(_INTERNAL, "InternalError", why, {})


def refused(error: HTTPException) -> JsonResponse:
    status = error.status_code
    kind = _TYPES.get(status, HTTPStatus(status).phrase.title().replace(" ", ""))
    return _answer(status, kind, _words(error), error.headers or {})


def handle(app: FastAPI) -> None:
    """Give all errors of this app the one shape."""

    async def told(_: Request, error: Exception) -> JsonResponse:
        assert isinstance(error, TenureError)
        return refusal(error)

    async def not_taken(_: Request, error: Exception) -> JsonResponse:
        assert isinstance(error, HTTPException)
        return refused(error)

    async def not_valid(_: Request, error: Exception) -> JsonResponse:
        assert isinstance(error, RequestValidationError)
        return refusal(InputRefused("; ".join(_complaint(each) for each in error.errors())))

    app.add_exception_handler(TenureError, told)
    app.add_exception_handler(HTTPException, not_taken)
    app.add_exception_handler(RequestValidationError, not_valid)


def _answer(status: int, kind: str, message: str, headers: Mapping[str, str]) -> JsonResponse:
    return JsonResponse(Error(Problem(kind, message)), status, headers)


def _headers(error: TenureError) -> Mapping[str, str]:
    if isinstance(error, NotRecognized):
        return {"www-authenticate": 'Bearer realm="tenure"'}
    return {"retry-after": "1"} if error.http_status == _UNAVAILABLE else {}


def _words(error: HTTPException) -> str:
    if isinstance(error, Refused):
        return error.detail
    match error.status_code:
        case 404:
            return "there is nothing at this path"
        case 405:
            return "this path does not take this method"
        case _:
            return _sentence(error.detail)


def _complaint(error: Mapping[str, Any]) -> str:
    """What pydantic has against a parameter; what was given is not repeated."""
    name = ".".join(str(part) for part in error["loc"][1:])
    return f"{name}: {_sentence(error['msg'])}"


def _sentence(text: str) -> str:
    text = text.partition("\n")[0].rstrip(".")
    return text[:1].lower() + text[1:]
