"""Read answers of the database, also those with values that the verbs would refuse today.

A row may have been written by the owner of the schema, before a limit existed, or by a newer
version. Such a row must not make a list, a page or the metrics fail for everyone, so an answer that
the strict reader refuses is read again and fitted: a time out of range becomes the nearest one that
Python has, a number beyond a double becomes the largest double, a list in place of a string becomes
its JSON.
"""

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from tenure.domain.bounds import MAX_LEVELS
from tenure.domain.values import nearest_float, nearest_time
from tenure.errors import SchemaMismatch

T = TypeVar("T")

TOO_DEEP = "\0"  # replaces values that are nested too deeply; PostgreSQL stores no NUL
_MAX_DEPTH = MAX_LEVELS + 20  # of an answer: the values of a row and their surroundings
_TOKENS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
_MAX_DIGITS = 308  # of an integer that fits a double


@cache
def answer_reader(kind: type[T]) -> Callable[[bytes | str], T]:
    """Return a function that reads answers of this type."""
    strict = msgspec.json.Decoder(kind).decode

    def read(text: bytes | str) -> T:
        try:
            return strict(text)
        except (msgspec.DecodeError, RecursionError):
            return _fitted(text, kind)

    return read


def flattened(text: bytes | str) -> str:
    """Return JSON with ``TOO_DEEP`` in place of values that are nested too deeply to be read."""
    text = text if isinstance(text, str) else text.decode()
    parts, level, done = [], 0, 0
    for token in _TOKENS.finditer(text):
        match token[0]:
            case "[" | "{":
                level += 1
                if level == _MAX_DEPTH + 1:
                    parts.append(text[done : token.start()])
            case "]" | "}":
                level -= 1
                if level == _MAX_DEPTH:
                    parts.append(json.dumps(TOO_DEEP))
                    done = token.end()
    return "".join(parts) + text[done:]


def _fitted(text: bytes | str, kind: type[T]) -> T:
    value = json.loads(flattened(text), parse_int=_integer, parse_float=nearest_float)
    try:
        fitted: T = msgspec.convert(_fit(value, inspect.type_info(kind)), kind)
    except msgspec.ValidationError as error:
        raise SchemaMismatch(
            f"the database holds a value that this version of Tenure cannot read ({error}); "
            f"is it newer than this code?"
        ) from None
    return fitted


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else nearest_float(digits)


def _fit(value: Any, kind: inspect.Type) -> Any:
    """Return the value if it has this type, or the nearest value that has."""
    match kind:
        case inspect.AnyType():
            return "..." if value == TOO_DEEP else value
        case inspect.UnionType():
            return _fit_union(value, kind)
        case inspect.StructType() if isinstance(value, dict):
            fields = {field.encode_name: field.type for field in kind.fields}
            return {name: _fit(value[name], fields[name]) for name in fields if name in value}
        case inspect.DictType():
            pairs = value.items() if isinstance(value, dict) else ()
            return {key: _fit(item, kind.value_type) for key, item in pairs}
        case inspect.VarTupleType() | inspect.ListType():
            items = value if isinstance(value, list) else []
            return [_fit(item, kind.item_type) for item in items]
        case inspect.TupleType() if isinstance(value, list):
            return list(map(_fit, value, kind.item_types))
        case inspect.DateTimeType():
            return nearest_time(value)
        case inspect.FloatType():
            return nearest_float(value)
        case inspect.IntType() if not isinstance(value, int):
            return int(nearest_float(value))
        case inspect.StrType() if not isinstance(value, str):
            return json.dumps(value)
        case inspect.StrType():
            return value.replace(TOO_DEEP, "...")
        case _:
            return value


def _fit_union(value: Any, kind: inspect.UnionType) -> Any:
    kinds = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
    if value is None and len(kinds) < len(kind.types):
        return None
    fitted = [_fit(value, each) for each in kinds]
    return value if value in fitted else fitted[0]
