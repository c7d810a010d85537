"""The fields of a form that was sent."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request

from tenure.domain.job import JSON
from tenure.errors import InputRefused
from tenure.web.errors import Refused
from tenure.web.limits import read_bytes

C = TypeVar("C", bound=StrEnum)

FORM = "tenure.form"
_MAX_BYTES = 64 << 10  # bytes
_MAX_FIELDS = 200
_KIND = "application/x-www-form-urlencoded"


class Form(ImmutableMultiDict[str, str]):
    """Fields by name, without the empty ones."""

    path: Mapping[str, str] = {}  # the parameters of the path it was sent to

    def __init__(self, fields: list[tuple[str, str]]) -> None:
        super().__init__([(name, value) for name, value in fields if value])

    def required(self, name: str) -> str:
        value = self.get(name, "").strip()
        if not value:
            raise InputRefused(f"{name}: this field is required")
        return value

    def json(self, name: str) -> JSON:
        """Return the JSON value in a field, or its text; None if it is empty."""
        text = self.get(name)
        try:
            value: JSON = None if text is None else msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return text
        return value

    def names(self, field: str) -> list[str]:
        """Return the names in a field, which are separated by commas."""
        return [name for part in self.get(field, "").split(",") if (name := part.strip())]

    @property
    def name(self) -> str:
        return self.required("name")

    @property
    def reason(self) -> str | None:
        return self.get("reason", "").strip() or None

    @property
    def stated_reason(self) -> str:
        return self.required("reason")


def read_choice(name: str, text: str | None, default: C) -> C:
    """Return the member of an enumeration that a field names."""
    kind = type(default)
    try:
        return kind(text or default)
    except ValueError:
        raise InputRefused(f"{name}: must be one of {', '.join(kind)}, not {text!r}") from None


def form_of(request: Request) -> Form:
    """Return the form of a request, which the middleware has read and checked."""
    form: Form = request.scope[FORM]
    form.path = request.path_params
    return form


async def read_form(request: Request) -> Form:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    text = await read_bytes(request, _MAX_BYTES, "form")
    if kind != _KIND:
        raise Refused(415, f"a form must be sent as {_KIND}")
    try:
        fields = parse_qsl(
            text.decode(), keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="strict"
        )
    except ValueError:
        raise InputRefused("the form cannot be read") from None
    if any("\x00" in value for _, value in fields):
        raise InputRefused("a field contains a NUL character")
    return Form(fields)
