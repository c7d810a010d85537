"""Send calls over psycopg: statements, timeouts, retries, answers and errors."""

import asyncio
import random
import select
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import count
from typing import Any, TypeVar

import msgspec
import psycopg

from tenure.config import Settings
from tenure.domain.duration import in_words
from tenure.errors import NotAllowed, QueryTimeout, StoreUnavailable, TenureError
from tenure.store.call import Call
from tenure.store.driver_errors import as_tenure_error, is_cancelled, is_outage

T = TypeVar("T")

BACKEND = b"SELECT pg_catalog.pg_backend_pid()"

_TRIES = 5
_PREPARED_AFTER = 5  # calls of a statement on a connection
_MAX_STATEMENTS = 1000  # that are kept: of all verbs of ten tenants, and of most verbs of a hundred
_statements: dict[tuple[str, ...], bytes] = {}
_LIMIT = b"""SELECT pg_catalog.set_config('statement_timeout', CAST(CAST(1000 *
    pg_catalog.date_part('epoch', least(CAST('%d ms' AS interval),
        nullif(CAST(pg_catalog.current_setting('statement_timeout') AS interval), '0')))
    AS int4) AS text), true)"""
_FORBIDDEN = '{"forbidden"'  # the answer of a verb that the caller may not use begins so


def statement(call: Call[Any]) -> bytes:
    """Return the statement of a call, for a raw cursor."""
    key = (call.verb, "" if call.control else call.tenant.schema, *call.arguments)
    if (found := _statements.get(key)) is None:
        numbered = call.sql(f"${number}" for number in count(1)).encode()
        found = _statements.setdefault(key, numbered)
        while len(_statements) > _MAX_STATEMENTS:
            with suppress(RuntimeError):  # another thread has just added or removed one
                _statements.pop(next(iter(_statements)), None)
    return found


def timeout_statement(timeout: timedelta) -> bytes:
    """Return the statement that limits the next one of the same transaction.

    Sent together with that statement. The limit ends with the transaction, so the next user of the
    backend behind a pooler is not affected. A shorter limit of the database role is kept.
    """
    return _LIMIT % round(timeout.total_seconds() * 1000)


def read_answer(call: Call[T], row: tuple[Any, ...] | None) -> T:
    assert row is not None
    if row[0] is not None and row[0][: len(_FORBIDDEN)] in (_FORBIDDEN, _FORBIDDEN.encode()):
        # An answer, not an error of the database: its audit row must be committed.
        raise NotAllowed(msgspec.json.decode(row[0])["forbidden"])
    return call.read(row[0])


def retry_delays() -> Iterator[float | None]:
    """Yield the seconds to wait before each further try, and None after the last."""
    for again in range(_TRIES - 1):
        yield 0.02 * 3**again * (0.5 + random.random())  # noqa: S311
    yield None


def explain_error(call: Call[Any], error: psycopg.Error) -> TenureError:
    if is_outage(error) and not call.safe:
        hint = "; with an idempotency key it is safe to try again"
        return StoreUnavailable(
            f"the connection was lost during {call.verb}, and its outcome is unknown"
            f"{hint if call.verb == 'enqueue' else ''}"
        )
    if is_cancelled(error) and call.timeout is not None:
        return QueryTimeout(
            f"{call.verb.replace('_', ' ')} took longer than {in_words(call.timeout)} and was "
            f"cancelled; nothing was changed; ask for less, such as a shorter time or one queue"
        )
    return as_tenure_error(error)


@contextmanager
def raise_lost_cancel() -> Iterator[None]:
    """Raise CancelledError if the task was cancelled in this block and the driver swallowed it.

    The driver loses a cancel that arrives together with the result it waits for, and a cancel after
    which the connection fails.
    """
    before = _cancels()
    try:
        yield
    except Exception as error:
        if _cancels() > before:
            raise asyncio.CancelledError from error
        raise
    if _cancels() > before:
        raise asyncio.CancelledError


def _cancels() -> int:
    """Return how often the current task was cancelled so far."""
    task = asyncio.current_task()
    return task.cancelling() if task else 0


def may_be_closed(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    """Return whether unread input waits on an idle connection; usually the server closed it.

    This takes no round trip, so it is checked before every call.
    """
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def connect_timeout(settings: Settings | None) -> float:
    return (settings or Settings()).connect_timeout.total_seconds()


def connect_options(timeout: float) -> dict[str, Any]:
    """Return the options of a connection; ``prepare_if_direct`` may permit prepared statements."""
    return {
        "autocommit": True,
        "prepare_threshold": None,
        "connect_timeout": max(2, round(timeout)),
    }


def prepare_if_direct(
    connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any], row: tuple[Any, ...] | None
) -> None:
    """Prepare the statements that are sent often, unless there may be a pooler in between.

    The row begins with the process of the backend that answered. A pooler may give every call
    another backend. So it gives its clients keys of its own to cancel a call, in which the server
    would name this process.
    """
    assert row is not None
    if row[0] == connection.pgconn.backend_pid:
        connection.prepare_threshold = _PREPARED_AFTER
