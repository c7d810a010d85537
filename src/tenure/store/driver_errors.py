"""Translate errors of the database and its drivers to those of Tenure."""

import psycopg

from tenure.errors import (
    IllegalTransition,
    InputRefused,
    JobNotFound,
    KeyTaken,
    NotAllowed,
    NotFound,
    QueryTimeout,
    SchemaMismatch,
    StoreUnavailable,
    TenureError,
    WriteRefused,
)

_RAISED: dict[str, type[TenureError]] = {  # by the verbs themselves
    "TN001": InputRefused,
    "TN002": JobNotFound,
    "TN003": IllegalTransition,
    "TN004": KeyTaken,
    "TN006": NotFound,
    "TN007": SchemaMismatch,
}
_MISSING = {"3F000", "42883", "42P01", "42704"}  # schema, function, table, type
_CANCELLED = "57014"  # by a timeout, or by pg_cancel_backend
_MAX_MESSAGE = 1000  # characters
_REFUSED = ("23", "27", "44", "P0")  # by constraints, triggers, checks of views, and RAISE
# Serialization, deadlock, lock not available; memory, disk or connections used up.
_CONTENDED = ("40001", "40P01", "55P03", "53")


def is_contention(error: psycopg.Error) -> bool:
    """Return whether other transactions prevented this one; a retry may succeed."""
    return (error.sqlstate or "").startswith(_CONTENDED)


def is_outage(error: psycopg.Error) -> bool:
    """Return whether the connection was lost; the transaction may or may not have committed."""
    state = error.sqlstate or ""
    lost = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and not state
    return lost or state.startswith(("08", "57P"))


def is_cancelled(error: psycopg.Error) -> bool:
    """Return whether the statement was cancelled, by a timeout or by pg_cancel_backend."""
    return error.sqlstate == _CANCELLED


def as_tenure_error(error: psycopg.Error) -> TenureError:
    """Return an error of psycopg as an error of Tenure."""
    message = error.diag.message_primary or str(error).strip() or type(error).__name__
    if isinstance(error, psycopg.DataError | psycopg.ProgrammingError) and not error.sqlstate:
        return InputRefused(message)  # the driver refused it before the database saw it
    return _translate(error.sqlstate or "", message)


def find_tenure_error(error: Exception) -> TenureError | None:
    """Return any driver's error as an error of Tenure; None if it does not come from a database."""
    chain: list[BaseException] = []
    inner: BaseException | None = error
    while inner is not None and inner not in chain:
        chain.append(inner)
        inner = getattr(inner, "orig", None) or inner.__cause__
    # The innermost error is that of the driver; those around it repeat its state.
    for inner in reversed(chain):
        if isinstance(inner, psycopg.Error):
            return as_tenure_error(inner)
        state = getattr(inner, "sqlstate", None) or getattr(inner, "pgcode", None)
        if isinstance(state, str):
            diag = getattr(inner, "diag", inner)
            message = getattr(diag, "message_primary", None) or getattr(diag, "message", None)
            return _translate(state, message or str(inner))
    return None


def _translate(state: str, message: str) -> TenureError:
    if len(message) > _MAX_MESSAGE:  # it quotes the arguments
        message = f"{message[:_MAX_MESSAGE]}..."
    if state in _RAISED:
        return _RAISED[state](message)
    if state in _MISSING:
        return SchemaMismatch(
            f"the database is not what this version of Tenure expects ({message}); "
            f"run: tenure migrate"
        )
    if state == "42501":
        return NotAllowed(f"the database role may not do this: {message}")
    if state.startswith("22"):
        return InputRefused(message)
    if state == _CANCELLED:
        return QueryTimeout(f"the database cancelled this, and nothing was changed: {message}")
    why = " ".join(message.split())  # libpq writes several lines
    if not state:
        return StoreUnavailable(f"the database cannot be reached: {why}")
    kind = WriteRefused if state.startswith(_REFUSED) else StoreUnavailable
    return kind(f"the database did not carry this out: {why}")
