"""The fields of a form that was sent."""

from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl

from starlette.requests import Request

from tenure.errors import InputRefused
from tenure.web.errors import Refused

FORM = "tenure.form"
_MAX_BYTES = 64 << 10  # bytes
_MAX_FIELDS = 200
_KIND = "application/x-www-form-urlencoded"


class Form(Mapping[str, str]):
    """Fields by name, without the empty ones."""

    def __init__(self, fields: list[tuple[str, str]]) -> None:
        self._all = [(name, value) for name, value in fields if value]
        self._fields = dict(self._all)
        self.path: Mapping[str, str] = {}  # the parameters of the path it was sent to

    def __getitem__(self, name: str) -> str:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def getlist(self, name: str) -> list[str]:
        """Return all values of a field that may be repeated."""
        return [value for field, value in self._all if field == name]

    def required(self, name: str) -> str:
        value = self.get(name, "").strip()
        if not value:
            raise InputRefused(f"{name}: this field is required")
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


def form_of(request: Request) -> Form:
    """Return the form of a request, which the middleware has read and checked."""
    form: Form = request.scope[FORM]
    form.path = request.path_params
    return form


async def read_form(request: Request) -> Form:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    text = await _body(request)
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


async def _body(request: Request) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > _MAX_BYTES:
            raise Refused(413, f"the form is larger than the maximum of {_MAX_BYTES} bytes")
        parts.append(part)
    return b"".join(parts)
