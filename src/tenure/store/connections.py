"""Calls inside a transaction the caller already has open, whatever driver it came from.

psycopg, asyncpg, SQLAlchemy (connections and sessions) and Django are known by the module their
connection was made in, so none of them has to be installed. Nothing is committed here.
"""

from collections.abc import Iterable
from itertools import repeat
from typing import Any, TypeVar

from tenure.errors import InputRefused
from tenure.store.call import Call
from tenure.store.faults import fault_of

T = TypeVar("T")


def send_on(connection: Any, call: Call[T]) -> T:
    """Carry out a call on a plain connection."""
    driver = _driver(connection)
    try:
        match driver:
            case "psycopg":
                row = connection.execute(call.sql(repeat("%s")).encode(), call.values).fetchone()
                return call.read(row[0])
            case "sqlalchemy":
                return call.read(connection.execute(_text(call), _named(call)).scalar_one())
            case "django":
                with connection.cursor() as cursor:
                    cursor.execute(call.sql(repeat("%s")), call.values)
                    return call.read(cursor.fetchone()[0])
    except Exception as error:
        raise fault_of(error) from error
    raise InputRefused(_unknown(connection, "send_on"))


async def asend_on(connection: Any, call: Call[T]) -> T:
    """Carry out a call on an async connection."""
    driver = _driver(connection)
    try:
        match driver:
            case "psycopg async":
                cursor = await connection.execute(call.sql(repeat("%s")).encode(), call.values)
                row = await cursor.fetchone()
                return call.read(row[0])
            case "sqlalchemy async":
                result = await connection.execute(_text(call), _named(call))
                return call.read(result.scalar_one())
            case "asyncpg":
                return call.read(await connection.fetchval(call.sql(_numbered()), *call.values))
    except Exception as error:
        raise fault_of(error) from error
    raise InputRefused(_unknown(connection, "asend_on"))


def _driver(connection: Any) -> str:
    """Which library the connection belongs to, and whether it is awaited."""
    for kind in type(connection).__mro__:
        module, name = kind.__module__, kind.__name__
        if module.startswith("psycopg."):
            return "psycopg async" if name.startswith("Async") else "psycopg"
        if module.startswith("sqlalchemy.ext.asyncio"):
            return "sqlalchemy async"
        if module.startswith("sqlalchemy."):
            return "sqlalchemy"
        if module.startswith("asyncpg."):
            return "asyncpg"
        if module.startswith("django."):
            return "django"
    return ""


def _unknown(connection: Any, what: str) -> str:
    kind = f"{type(connection).__module__}.{type(connection).__qualname__}"
    other = "asend_on" if what == "send_on" else "send_on"
    if _driver(connection):
        return f"a {kind} is not for {what}; use {other}"
    return f"a {kind} is not a connection of psycopg, asyncpg, SQLAlchemy or Django"


def _text(call: Call[Any]) -> Any:
    from sqlalchemy import text

    return text(call.sql(f":{name}" for name in call.arguments))


def _named(call: Call[Any]) -> dict[str, Any]:
    return dict(zip(call.arguments, call.values, strict=True))


def _numbered() -> Iterable[str]:
    return (f"${number}" for number in range(1, 100))
