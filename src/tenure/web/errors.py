"""Errors as JSON, all of one form: {"error": {"type": ..., "message": a sentence}}."""

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
    message: str  # a sentence


class Error(msgspec.Struct, frozen=True):
    """The response to a request that failed."""

    error: Problem


class Refused(HTTPException):
    """A request that is refused before its handler is called."""


def refusal(error: TenureError) -> JsonResponse[Error]:
    """Return an error as a response. The cause of a server error goes to the log only."""
    status = error.http_status
    message = str(error)
    if status in (_INTERNAL, _UNAVAILABLE):
        log.warning("%s: %s", type(error).__name__, error)
        message = _sentence(type(error).__doc__ or "")
    return _error(status, type(error).__name__, message, _headers(error))


def unexpected(error: Exception) -> JsonResponse[Error]:
    log.error("unexpected error while handling a request", exc_info=error)
    why = "internal error; see the log of the server"
    return _error(_INTERNAL, "InternalError", why, {})


def refused(error: HTTPException) -> JsonResponse[Error]:
    status = error.status_code
    kind = _TYPES.get(status, HTTPStatus(status).phrase.title().replace(" ", ""))
    return _error(status, kind, _message(error), error.headers or {})


def handle(app: FastAPI) -> None:
    """Install handlers that give all errors of this app the same form."""

    async def on_tenure_error(_: Request, error: Exception) -> JsonResponse[Error]:
        assert isinstance(error, TenureError)
        return refusal(error)

    async def on_http_error(_: Request, error: Exception) -> JsonResponse[Error]:
        assert isinstance(error, HTTPException)
        return refused(error)

    async def on_invalid(_: Request, error: Exception) -> JsonResponse[Error]:
        assert isinstance(error, RequestValidationError)
        return refusal(InputRefused("; ".join(_invalid(each) for each in error.errors())))

    app.add_exception_handler(TenureError, on_tenure_error)
    app.add_exception_handler(HTTPException, on_http_error)
    app.add_exception_handler(RequestValidationError, on_invalid)


def _error(status: int, kind: str, message: str, headers: Mapping[str, str]) -> JsonResponse[Error]:
    return JsonResponse(Error(Problem(kind, message)), status, headers)


def _headers(error: TenureError) -> Mapping[str, str]:
    if isinstance(error, NotRecognized):
        return {"www-authenticate": 'Bearer realm="tenure"'}
    return {"retry-after": "1"} if error.http_status == _UNAVAILABLE else {}


def _message(error: HTTPException) -> str:
    if isinstance(error, Refused):
        return error.detail
    match error.status_code:
        case 404:
            return "there is nothing at this path"
        case 405:
            return "this path does not take this method"
        case _:
            return _sentence(error.detail)


def _invalid(error: Mapping[str, Any]) -> str:
    """Return why a parameter is not valid, without repeating its value."""
    name = ".".join(str(part) for part in error["loc"][1:])
    return f"{name}: {_sentence(error['msg'])}"


def _sentence(text: str) -> str:
    text = text.partition("\n")[0].rstrip(".")
    return text[:1].lower() + text[1:]
