"""Values from a runner, made fit for the database: a keeper does not trust them to be."""

from math import isfinite
from typing import Any

import msgspec

from tenure.store.new_jobs import encode_json

_raw = msgspec.json.Decoder(msgspec.Raw)


def require_json(value: bytes) -> None:
    """Raise ValueError or InputRefused for what would make the database refuse the whole call."""
    try:
        _raw.decode(value)
        value.decode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if b"\\u0000" in value:
        encode_json(msgspec.Raw(value))


def storable(value: Any) -> Any:
    """Return the value without what PostgreSQL cannot store: NUL, and numbers that JSON lacks."""
    match value:
        case str():
            return value.replace("\0", "\\0")
        case float() if not isfinite(value):
            return str(value)
        case dict():
            return {storable(name): storable(member) for name, member in value.items()}
        case list() | tuple():
            return [storable(member) for member in value]
        case _:
            return value
