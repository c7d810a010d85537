"""Examples for the API description, derived from the models.

A field shows the value that examples.json lists for ``Model.field`` or ``field``, else its default,
else a plain value of its type.
"""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, get_args

import msgspec
from msgspec import inspect

WHEN = "2030-01-01T12:00:00Z"
_WORKER = "0b5f3d6e-8f0f-4d5e-9d3e-2f7c1a9b4c11"
_LISTED = msgspec.json.decode(files("tenure.web").joinpath("examples.json").read_bytes())
FIELDS: Mapping[str, Any] = _LISTED["fields"]
BODIES: Mapping[str, Any] = _LISTED["bodies"]


def example_of(model: Any) -> Any:
    """Return an example of a struct, or of a list of structs."""
    return _example(inspect.type_info(model))


def body_example(model: Any) -> dict[str, Any]:
    """Return the example of a request body as a part of its description, if there is one."""
    name = (get_args(model) or (model,))[0].__name__
    return {"example": BODIES[name]} if name in BODIES else {}


def _example(info: inspect.Type) -> Any:
    match info:
        case inspect.StructType(cls=model, fields=fields):
            return {field.encode_name: _field(model.__name__, field) for field in fields}
        case inspect.UnionType(includes_none=False, types=types):
            return _example(types[0])
        case (
            inspect.VarTupleType(item_type=inspect.StructType() as item)
            | inspect.ListType(item_type=inspect.StructType() as item)
        ):
            return [_example(item)]
        case inspect.DictType(value_type=inspect.StructType() as item):
            return {"crawl": _example(item)}
        case inspect.EnumType(cls=kind):
            return next(iter(kind)).value
        case inspect.LiteralType(values=values):
            return values[0]
        case _:
            return _PLAIN.get(type(info))


def _field(model: str, field: inspect.Field) -> Any:
    for name in (f"{model}.{field.name}", field.name):
        if name in FIELDS:
            return FIELDS[name]
    if isinstance(field.type, inspect.VarTupleType):
        return _example(field.type)
    if field.default is not msgspec.NODEFAULT:
        return msgspec.to_builtins(field.default)
    if field.default_factory is not msgspec.NODEFAULT:
        return msgspec.to_builtins(field.default_factory())
    return _example(field.type)


_PLAIN: dict[type[inspect.Type], Any] = {
    inspect.DateTimeType: WHEN,
    inspect.UUIDType: _WORKER,
    inspect.IntType: 0,
    inspect.FloatType: 0.0,
    inspect.BoolType: False,
    inspect.StrType: "",
    inspect.VarTupleType: [],
    inspect.ListType: [],
    inspect.DictType: {},
}
