"""Send calls in an open transaction of the caller, over the driver of the caller.

psycopg, asyncpg, SQLAlchemy (connections and sessions) and Django are recognized by the names of
their classes, so none of them has to be installed. Nothing is committed here.
"""

from itertools import repeat
from typing import Any, TypeVar

import psycopg
from psycopg.rows import tuple_row

from tenure.errors import InputRefused
from tenure.store.call import Call
from tenure.store.driver_errors import find_tenure_error
from tenure.store.transport import read_answer

T = TypeVar("T")

_SYNC = {
    "psycopg Connection": "psycopg",
    "sqlalchemy Connection": "sqlalchemy",
    "sqlalchemy Session": "sqlalchemy",
    "sqlalchemy scoped_session": "sqlalchemy",
    "django BaseDatabaseWrapper": "django",
    "django ConnectionProxy": "django",
}
_ASYNC = {
    "psycopg AsyncConnection": "psycopg",
    "sqlalchemy AsyncConnection": "sqlalchemy",
    "sqlalchemy AsyncSession": "sqlalchemy",
    "sqlalchemy async_scoped_session": "sqlalchemy",
    "asyncpg Connection": "asyncpg",
    "asyncpg PoolConnectionProxy": "asyncpg",
}


def send_on(connection: Any, call: Call[T]) -> T:
    """Send a call on a synchronous connection."""
    driver = _driver(connection, _SYNC, "send_on")
    try:
        return read_answer(call, (_send(driver, connection, call),))
    except Exception as error:
        _explain(error)
        raise


async def asend_on(connection: Any, call: Call[T]) -> T:
    """Send a call on an async connection."""
    driver = _driver(connection, _ASYNC, "asend_on")
    try:
        return read_answer(call, (await _asend(driver, connection, call),))
    except Exception as error:
        _explain(error)
        raise


def _send(driver: str, connection: Any, call: Call[Any]) -> str:
    match driver:
        case "psycopg":
            # A new cursor: the caller's may have another row factory or placeholder style.
            with psycopg.Cursor(connection, row_factory=tuple_row) as cursor:
                cursor.execute(call.sql(repeat("%s")).encode(), call.values)
                return _only(cursor.fetchone())
        case "django":
            with connection.cursor() as cursor:
                cursor.execute(call.sql(repeat("%s")), call.values)
                return _only(cursor.fetchone())
        case _:
            return str(connection.execute(_text(call), _named(call)).scalar_one())


async def _asend(driver: str, connection: Any, call: Call[Any]) -> str:
    match driver:
        case "psycopg":
            async with psycopg.AsyncCursor(connection, row_factory=tuple_row) as cursor:
                await cursor.execute(call.sql(repeat("%s")).encode(), call.values)
                return _only(await cursor.fetchone())
        case "asyncpg":
            return str(await connection.fetchval(call.sql(_numbered(call)), *call.values))
        case _:
            return str((await connection.execute(_text(call), _named(call))).scalar_one())


def _driver(connection: Any, drivers: dict[str, str], function: str) -> str:
    for kind in type(connection).__mro__:
        name = f"{kind.__module__.partition('.')[0]} {kind.__name__}"
        if name in drivers:
            return drivers[name]
        if name in _SYNC or name in _ASYNC:
            other = "asend_on" if function == "send_on" else "send_on"
            raise InputRefused(f"a {_kind(connection)} is not for {function}; use {other}")
    raise InputRefused(
        f"a {_kind(connection)} is not a connection of psycopg, asyncpg, SQLAlchemy or Django"
    )


def _kind(connection: Any) -> str:
    return f"{type(connection).__module__}.{type(connection).__qualname__}"


def _explain(error: Exception) -> None:
    """Raise an error of the database as one of Tenure; leave all others."""
    if known := find_tenure_error(error):
        raise known from error


def _only(row: Any) -> str:
    return str(row[0])


def _text(call: Call[Any]) -> Any:
    from sqlalchemy import text

    return text(call.sql(f":{name}" for name in call.arguments))


def _named(call: Call[Any]) -> dict[str, Any]:
    return dict(zip(call.arguments, call.values, strict=True))


def _numbered(call: Call[Any]) -> list[str]:
    # Cast text first: the connection may have a jsonb codec that would encode the JSON again.
    return [
        f"CAST(${number} AS text)" if isinstance(value, str) else f"${number}"
        for number, value in enumerate(call.values, 1)
    ]
