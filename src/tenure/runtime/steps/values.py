"""The arguments of steps as a digest, and their values as JSON that comes back typed."""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import PurePath
from typing import Any, get_type_hints
from weakref import WeakKeyDictionary

import msgspec
from pydantic import BaseModel

from tenure.control.signature import Signature
from tenure.errors import InputRefused

_of_functions: "WeakKeyDictionary[Any, Signature]" = WeakKeyDictionary()
_of_types: "WeakKeyDictionary[Any, Signature]" = WeakKeyDictionary()


def digest_of(kind: str, *parts: Any) -> str:
    """Return the same string for the same arguments in every process."""
    try:
        text = msgspec.json.encode(parts, enc_hook=_plain, order="deterministic")
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputRefused(
            f"the arguments of a step must be JSON, dataclasses or pydantic models, because the "
            f"step runs again when they change ({error}); pass clients and the like in a closure"
        ) from None
    return hashlib.sha256(kind.encode() + b"\0" + text).hexdigest()[:32]


def arguments_of(function: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Return all arguments of a call, with those that are bound by ``partial``."""
    while isinstance(function, partial):
        args, kwargs = (*function.args, *args), {**function.keywords, **kwargs}
        function = function.func
    return args, kwargs


def shape_of(function: Callable[..., Any]) -> Signature:
    """Return what writes and reads the values of a function, by its annotation."""
    while isinstance(function, partial):
        function = function.func
    key = getattr(function, "__func__", function)
    return _shape(_of_functions, key, lambda: _annotation(key))


def shape_of_type(kind: Any) -> Signature:
    """Return what writes and reads values of a type."""
    return _shape(_of_types, kind, lambda: kind)


def _shape(
    known: "WeakKeyDictionary[Any, Signature]", key: Any, returns: Callable[[], Any]
) -> Signature:
    try:
        return known[key]
    except (KeyError, TypeError):
        shape = Signature({}, returns=returns())
    with suppress(TypeError):  # what cannot be a key
        known[key] = shape
    return shape


def _annotation(function: Callable[..., Any]) -> Any:
    try:
        kind = get_type_hints(function, include_extras=True).get("return", Any)
    except Exception:  # noqa: BLE001 - annotations of the job's code may be anything
        return Any
    return None if kind is type(None) else kind


def _plain(value: Any) -> Any:
    match value:
        case BaseModel():
            return value.model_dump()
        case PurePath():
            return str(value)
        case str():
            return str.__str__(value)
        case int():
            return int.__int__(value)
        case float():
            return float.__float__(value)
        case partial():
            return arguments_of(value, (), {})
        case _:
            raise TypeError(f"a {type(value).__name__} is not")
