"""Read answers of the database, also where a row holds what no door would let in today.

A row may have been written by the owner of the schema, before a bound existed, or by a newer
version. One such row must not make a list, a page or the metrics fail for everybody, so what a
strict reader refuses is read once more and fitted: a time out of range becomes the nearest one that
Python has, a number beyond a double the largest, a list in the place of a text its JSON.
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

TOO_DEEP = "\0"  # in the place of what is nested too deeply; PostgreSQL stores no such text
_DEEPEST = MAX_LEVELS + 20  # of an answer: what a row holds, and what stands around it
_TOKENS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
_MOST_DIGITS = 308  # of a whole number that is no larger than a double


@cache
def answer(kind: type[T]) -> Callable[[bytes | str], T]:
    """Return a reader of answers of this kind."""
    strict = msgspec.json.Decoder(kind).decode

    def read(text: bytes | str) -> T:
        try:
            return strict(text)
        except (msgspec.DecodeError, RecursionError):
            return _fitted(text, kind)

    return read


def flattened(text: bytes | str) -> str:
    """Return JSON with ``TOO_DEEP`` in the place of what is nested too deeply to be read."""
    text = text if isinstance(text, str) else text.decode()
    parts, level, done = [], 0, 0
    for token in _TOKENS.finditer(text):
        match token[0]:
            case "[" | "{":
                level += 1
                if level == _DEEPEST + 1:
                    parts.append(text[done : token.start()])
            case "]" | "}":
                level -= 1
                if level == _DEEPEST:
                    parts.append(json.dumps(TOO_DEEP))
                    done = token.end()
    return "".join(parts) + text[done:]


def _fitted(text: bytes | str, kind: type[T]) -> T:
    value = json.loads(flattened(text), parse_int=_whole, parse_float=nearest_float)
    try:
        fitted: T = msgspec.convert(_fit(value, inspect.type_info(kind)), kind)
    except msgspec.ValidationError as error:
        raise SchemaMismatch(
            f"the database holds something that this version of Tenure cannot read ({error}); "
            f"is it newer than this code?"
        ) from None
    return fitted


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MOST_DIGITS else nearest_float(digits)


def _fit(value: Any, kind: inspect.Type) -> Any:
    """Return the value if it is of this type, or the nearest that is."""
    match kind:
        case inspect.AnyType():
            return "..." if value == TOO_DEEP else value
        case inspect.UnionType():
            return _fit_one(value, kind)
        case inspect.StructType() if isinstance(value, dict):
            fields = {field.encode_name: field.type for field in kind.fields}
            return {name: _fit(value[name], fields[name]) for name in fields if name in value}
        case inspect.DictType():
            pairs = value.items() if isinstance(value, dict) else ()
            return {key: _fit(one, kind.value_type) for key, one in pairs}
        case inspect.VarTupleType() | inspect.ListType():
            listed = value if isinstance(value, list) else []
            return [_fit(one, kind.item_type) for one in listed]
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


def _fit_one(value: Any, kind: inspect.UnionType) -> Any:
    kinds = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
    if value is None and len(kinds) < len(kind.types):
        return None
    fitted = [_fit(value, one) for one in kinds]
    return value if value in fitted else fitted[0]
