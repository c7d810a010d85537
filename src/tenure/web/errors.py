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


def explain_error(error: Exception) -> tuple[int, str]:
    """Return the status and the sentence to show. The cause of a server error goes to the log."""
    match error:
        case TenureError(http_status=500 | 503 as status):
            log.warning("%s: %s", type(error).__name__, error)
            return status, _sentence(type(error).__doc__ or "")
        case TenureError():
            return error.http_status, str(error)
        case HTTPException():
            return error.status_code, _message(error)
        case _:
            log.error("unexpected error while handling a request", exc_info=error)
            return _INTERNAL, "internal error; see the log of the server"


def response_to(error: Exception) -> JsonResponse[Error]:
    """Return any error as a response."""
    if isinstance(error, RequestValidationError):
        error = InputRefused("; ".join(_invalid(each) for each in error.errors()))
    status, message = explain_error(error)
    match error:
        case TenureError():
            kind, headers = type(error).__name__, _headers(error)
        case HTTPException():
            kind, headers = _TYPES.get(status) or _name(status), error.headers or {}
        case _:
            kind, headers = "InternalError", {}
    return JsonResponse(Error(Problem(kind, message)), status, headers)


def handle(app: FastAPI) -> None:
    """Install a handler that gives all errors of this app the same form."""

    async def on_error(_: Request, error: Exception) -> JsonResponse[Error]:
        return response_to(error)

    for kind in (TenureError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, on_error)


def _headers(error: TenureError) -> Mapping[str, str]:
    if isinstance(error, NotRecognized):
        return {"www-authenticate": 'Bearer realm="tenure"'}
    return {"retry-after": "1"} if error.http_status == _UNAVAILABLE else {}


def _name(status: int) -> str:
    return HTTPStatus(status).phrase.title().replace(" ", "")


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
