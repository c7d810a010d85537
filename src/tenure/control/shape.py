"""Named values of given types: checked, written as JSON, and read back."""

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any

import msgspec
import pydantic_core
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PydanticUserError,
    Secret,
    SecretBytes,
    SecretStr,
    TypeAdapter,
    ValidationError,
    create_model,
)
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic_core import PydanticSerializationError

from tenure.domain.job import JSON
from tenure.errors import SettingInvalid

_COMING_BACK: tuple[Any, ...] = (str, int, float, bool)  # always read back as they were written
_MASK = b"**********"  # what pydantic writes in the place of a secret


class Mistakes(Exception):
    """The mistakes in some values; no value is shown, and no detail about a secret."""

    def __init__(self, mistakes: Collection[str]) -> None:
        super().__init__("; ".join(mistakes))


class Shape:
    """The names and types of some values. Any name is possible: the fields have their own names."""

    def __init__(
        self,
        types: Mapping[str, Any],
        optional: Collection[str] = (),
        secrets: Collection[str] = (),
    ) -> None:
        self.names = tuple(types)
        self._secrets = secrets
        self._comes_back = all(
            any(kind is sure for sure in _COMING_BACK) for kind in types.values()
        )
        self._fields = {f"value_{place}": name for place, name in enumerate(types)}
        made: dict[str, Any] = {
            field: (types[name], Field(None if name in optional else ..., alias=name))
            for field, name in self._fields.items()
        }
        try:
            self._model: type[BaseModel] = create_model("Values", __config__=_CONFIG, **made)
            # Built now, so that a type nobody can write is refused at import.
            self._model.model_rebuild(force=True, raise_errors=True)
        except (PydanticUserError, PydanticUndefinedAnnotation) as error:
            raise SettingInvalid(str(error).partition("\n")[0].rstrip(".")) from None

    def write(self, values: Mapping[str, Any]) -> bytes:
        """Return the values as a JSON object that can be read back."""
        try:
            checked = self._model.model_validate(dict(values))
        except ValidationError as error:
            raise Mistakes(self._mistakes(error)) from None
        left_out = self._fields.keys() - checked.model_fields_set or None
        try:
            text = checked.model_dump_json(**_DUMP, exclude=left_out).encode()
            if _MASK in text:
                plain = checked.model_dump(**_DUMP, exclude=left_out)
                text = msgspec.json.encode(_unmasked(plain, pydantic_core.from_json(text)))
                self._refuse_other_secrets(checked, text)
            elif not self._comes_back:
                self._model.model_validate_json(text)
        except ValidationError as error:
            written = [f"{mistake} (when read back)" for mistake in self._mistakes(error)]
            raise Mistakes(written) from None
        except (PydanticSerializationError, ValueError, TypeError) as error:
            why = "" if self._secrets else f": {_without_prefix(error)}"
            raise Mistakes([f"it cannot be written as JSON{why}"]) from None
        return text

    def json_schema(self) -> dict[str, JSON] | None:
        """Return the JSON Schema of such an object; none if a type has no such description."""
        try:
            schema = self._model.model_json_schema()
        except Exception:  # noqa: BLE001 - a type may describe itself by code of its own
            return None
        schema.pop("title", None)
        for field in schema.get("properties", {}).values():
            field.pop("title", None)
        return schema

    def write_many(self, many: list[dict[str, Any]]) -> bytes | None:
        """Return a JSON list of such objects; None if each has to be checked by itself."""
        if not self._comes_back:
            return None
        try:
            checked = self._list.validate_python(many)
            text = self._list.dump_json(checked, **_DUMP, exclude_unset=True)
        except (ValidationError, PydanticSerializationError):
            return None
        return None if _MASK in text else text

    @cached_property
    def _list(self) -> TypeAdapter[list[Any]]:
        return TypeAdapter(list[self._model])  # type: ignore[name-defined]

    def _refuse_other_secrets(self, checked: BaseModel, text: bytes) -> None:
        # A SecretBytes inside a model of the user may be read by rules of its own.
        if self._model.model_validate_json(text) != checked:
            raise Mistakes(["a secret in it would not come back as it was given"])

    def _mistakes(self, error: ValidationError) -> list[str]:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        mistakes = [
            # The message comes from a validator of the user, and may show the value.
            f"{wrong['loc'][0]}: it cannot be taken; details of a secret are not shown"
            if wrong["loc"][:1] and wrong["loc"][0] in self._secrets and wrong["type"] != "missing"
            else _mistake(wrong["type"], wrong["loc"], wrong["msg"])
            for wrong in found
        ]
        return list(dict.fromkeys(mistakes))

    def read(self, text: bytes) -> dict[str, Any]:
        try:
            read = self._model.model_validate_json(text)
        except ValidationError as error:
            raise Mistakes(self._mistakes(error)) from None
        values = read.__dict__
        return {
            name: values[field]
            for field, name in self._fields.items()
            if field in read.model_fields_set
        }


_CONFIG = ConfigDict(
    extra="forbid",
    ser_json_bytes="base64",
    val_json_bytes="base64",
    ser_json_inf_nan="constants",
    validate_by_alias=True,
)
# Aliases and Json fields are written as they are read.
_DUMP: Mapping[str, Any] = {"by_alias": True, "round_trip": True, "warnings": "error"}


def _unmasked(plain: Any, written: JSON) -> JSON:
    """Return what was written, with its secrets; both are walked in the same order."""
    match plain, written:
        case ((SecretStr() | SecretBytes() | Secret()), _):
            secret = plain.get_secret_value()
            return pydantic_core.to_jsonable_python(secret, bytes_mode="base64")
        case dict(), dict() if len(plain) == len(written):
            pairs = zip(plain.values(), written.items(), strict=True)
            return {key: _unmasked(value, below) for value, (key, below) in pairs}
        case ((list() | tuple() | set() | frozenset()), list()) if len(plain) == len(written):
            return [_unmasked(*both) for both in zip(plain, written, strict=True)]
    return written


def _mistake(kind: str, place: tuple[int | str, ...], message: str) -> str:
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)[1:]
    match kind:
        case "missing":
            return f"{where} is missing"
        case "extra_forbidden":
            return f"there is no {where}"
        case _:
            return f"{where}: {message[:1].lower()}{message[1:]}"


def _without_prefix(error: Exception) -> str:
    return str(error).removeprefix("Error serializing to JSON: ")
