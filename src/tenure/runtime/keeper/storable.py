"""What comes from a runner, made fit for the database: a keeper does not trust it to be."""

from math import isfinite
from typing import Any


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
