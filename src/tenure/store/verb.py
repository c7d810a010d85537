"""Declare a verb once: its annotations give the arguments of its call and the reader of its answer.

>>> @verb(safe=True)
... def show(job: int) -> Job: ...

``show(7)`` returns a ``Call[Job]`` of the SQL function ``show``. The function itself is only called
to let Python check the arguments; its body is empty.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from functools import wraps
from operator import attrgetter
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    ParamSpec,
    TypedDict,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)
from uuid import UUID

import msgspec

from tenure.domain.duration import Duration, duration
from tenure.domain.lifecycle import Rung
from tenure.domain.options import LastRung, refuse_unknown
from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused
from tenure.store.answers import answer_reader
from tenure.store.call import Call
from tenure.store.new_jobs import encode_json

P = ParamSpec("P")
T = TypeVar("T")

_DEFAULTS = {"via": "python"}  # of keywords that a TypedDict declares; None for all others


class Parameter(NamedTuple):
    """How an argument is sent; in ``Annotated`` where its Python type does not tell."""

    type: str  # in PostgreSQL
    encode: Callable[[Any], Any] | None = None  # never called with None


Int4 = Annotated[int, Parameter("int4")]
EncodedJSON = Annotated[str, Parameter("jsonb")]


class Actor(TypedDict, total=False):
    """The user who makes a call, and the interface; overwritten by ``Call.asked_by``."""

    by: str | None
    via: str


def verb(
    *,
    safe: bool | Callable[[Mapping[str, Any]], bool] = False,
    control: bool = False,
    read: Callable[[bytes | str], Any] | None = None,
    field: str | None = None,
    without: str = "",
) -> Callable[[Callable[P, T]], Callable[P, Call[T]]]:
    """Make a function that returns the call of a verb from the signature of that verb.

    :param safe: see ``Call``; a function decides it from the arguments.
    :param control: see ``Call``.
    :param read: reads the answer, if it is not the JSON of the return type.
    :param field: the only field of the answer that is returned.
    :param without: a keyword of its TypedDict that the verb does not have.
    """

    def declare(function: Callable[P, T]) -> Callable[P, Call[T]]:
        name = function.__name__
        defaults, parameters = _parameters(function, without)
        names = tuple(defaults)
        types = {name: _with_schema(parameter.type) for name, parameter in parameters.items()}
        encoders = [(name, found.encode) for name, found in parameters.items() if found.encode]
        kind = get_type_hints(function)["return"]
        reader = read or (answer_reader(kind) if field is None else _field_reader(kind, field))

        @wraps(function)
        def make(*args: P.args, **kwargs: P.kwargs) -> Call[T]:
            function(*args, **kwargs)  # raises a TypeError if the arguments do not match
            arguments = defaults.copy()
            arguments.update(zip(names, args, strict=False))
            arguments.update(kwargs)
            if len(arguments) > len(names):
                refuse_unknown(arguments, types)
            is_safe = safe if isinstance(safe, bool) else safe(arguments)
            for key, encode in encoders:
                if (value := arguments[key]) is not None:
                    arguments[key] = encode(value)
            return Call(name, arguments, types, reader, is_safe, control)

        return make

    return declare


def _parameters(
    function: Callable[..., Any], without: str
) -> tuple[dict[str, Any], dict[str, Parameter]]:
    """Return the default of each argument, None where it has none, and how each is sent."""
    hints = get_type_hints(function, include_extras=True)
    defaults: dict[str, Any] = {}
    kinds: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            [options] = get_args(hints[name])
            kinds |= get_type_hints(options, include_extras=True)
        else:
            kinds[name] = hints[name]
            if parameter.default is not parameter.empty:
                defaults[name] = parameter.default
    kinds.pop(without, None)
    return (
        {name: defaults.get(name, _DEFAULTS.get(name)) for name in kinds},
        {name: _parameter(kind) for name, kind in kinds.items()},
    )


def _parameter(kind: Any) -> Parameter:
    origin = get_origin(kind) or kind
    if origin is Annotated:
        return next(each for each in kind.__metadata__ if isinstance(each, Parameter))
    if origin in (Union, UnionType):
        kinds = frozenset(get_args(kind)) - {NoneType}
        if kinds in _UNIONS:
            return _UNIONS[kinds]
        [parameter] = set(map(_parameter, kinds))
        return parameter
    if origin in _SCALARS:
        return _SCALARS[origin]
    if origin is Literal:
        return _SCALARS[str]
    if origin is Sequence and get_args(kind)[0] in (int, str):
        return Parameter(f"{_SCALARS[get_args(kind)[0]].type}[]", list)
    if issubclass(origin, StrEnum):
        return Parameter("text", str)
    if issubclass(origin, (Mapping, Sequence, msgspec.Struct)):
        return Parameter("jsonb", encode_json)
    raise TypeError(f"no PostgreSQL type is known for {kind}")


def _with_schema(type_: str) -> str:
    return type_ if "." in type_ else f"pg_catalog.{type_}"


def _field_reader(kind: type[T], field: str) -> Callable[[bytes | str], T]:
    read: Callable[[bytes | str], dict[str, T]] = answer_reader(dict[str, kind])  # type: ignore[valid-type]
    return lambda text: read(text)[field]


def _with_zone(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise InputRefused(f"{value} has no time zone; give it one")
    return value


_SCALARS = {
    str: Parameter("text"),
    bool: Parameter("bool"),
    int: Parameter("int8"),
    bytes: Parameter("bytea"),
    UUID: Parameter("uuid"),
    timedelta: Parameter("interval"),
    datetime: Parameter("timestamptz", _with_zone),
    Rung: Parameter("tenure.rung", str),
    Tenant: Parameter("text", attrgetter("name")),
}
_UNIONS = {
    frozenset(get_args(Duration)): Parameter("interval", duration),
    frozenset(get_args(LastRung)): _SCALARS[Rung],
}
