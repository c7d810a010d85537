"""What a form was filled with."""

from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl

from starlette.requests import Request

from tenure.errors import InputRefused
from tenure.web.errors import Refused

FORM = "tenure.form"
_MOST = 64 << 10  # bytes
_MOST_FIELDS = 200
_KIND = "application/x-www-form-urlencoded"


class Form(Mapping[str, str]):
    """Fields by name; one that was left empty is not there."""

    def __init__(self, fields: list[tuple[str, str]]) -> None:
        self._all = [(name, value) for name, value in fields if value]
        self._fields = dict(self._all)

    def __getitem__(self, name: str) -> str:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def getlist(self, name: str) -> list[str]:
        """All values of a field that may be repeated."""
        return [value for field, value in self._all if field == name]

    def required(self, name: str, what: str) -> str:
        value = self.get(name, "").strip()
        if not value:
            raise InputRefused(what)
        return value

    @property
    def reason(self) -> str | None:
        return self.get("reason", "").strip() or None

    @property
    def stated_reason(self) -> str:
        return self.required("reason", "say why: the reason stands on the record")


def form_of(request: Request) -> Form:
    """The form that was read on the way in, and is one of ours."""
    form: Form = request.scope[FORM]
    return form


async def read_form(request: Request) -> Form:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    text = await _body(request)
    if kind != _KIND:
        raise Refused(415, f"a form comes as {_KIND}, and nothing else is read")
    try:
        fields = parse_qsl(
            text.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except ValueError:
        raise InputRefused("the form cannot be read") from None
    if any("\x00" in value for _, value in fields):
        raise InputRefused("a field has a character in it that no text can have")
    return Form(fields)


async def _body(request: Request) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > _MOST:
            raise Refused(413, f"the form is larger than the {_MOST} bytes that are taken")
        parts.append(part)
    return b"".join(parts)
