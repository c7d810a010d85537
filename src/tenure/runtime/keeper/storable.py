"""What comes from a runner, made fit for the database: a keeper does not trust it to be."""

from math import isfinite
from typing import Any

import msgspec

from tenure.store.new_jobs import encode_json

_unread = msgspec.json.Decoder(msgspec.Raw)


def refuse_no_json(value: bytes) -> None:
    """ValueError or InputRefused for what the database would refuse, with all that goes with it."""
    try:
        _unread.decode(value)
        value.decode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if b"\\u0000" in value:
        encode_json(msgspec.Raw(value))


def storable(value: Any) -> Any:
    """The same value without what PostgreSQL cannot store: NUL, and numbers that JSON lacks."""
    match value:
        case str():
            return value.replace("\0", "\\0")
        case float() if not isfinite(value):
            return str(value)
        case dict():
            return {storable(name): storable(one) for name, one in value.items()}
        case list() | tuple():
            return [storable(one) for one in value]
        case _:
            return value
