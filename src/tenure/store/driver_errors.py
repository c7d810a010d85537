"""What went wrong in the database, as one of our own errors."""

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
_CANCELLED = "57014"  # by a timeout, or by somebody's pg_cancel_backend
# Serialization, deadlock, lock not available; memory, disk or connections used up.
_LONGEST = 1000  # characters of a message
_REFUSED = ("23", "27", "44", "P0")  # by constraints, triggers, checks of views, and RAISE
_CONTENDED = ("40001", "40P01", "55P03", "53")


def is_contention(error: psycopg.Error) -> bool:
    """Nothing was done because of what others do; the same again may well succeed."""
    return (error.sqlstate or "").startswith(_CONTENDED)


def is_outage(error: psycopg.Error) -> bool:
    """The connection is gone; what it was doing may or may not have been committed."""
    state = error.sqlstate or ""
    lost = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and not state
    return lost or state.startswith(("08", "57P"))


def is_cancelled(error: psycopg.Error) -> bool:
    """Return whether the statement was cancelled, by a timeout or by somebody."""
    return error.sqlstate == _CANCELLED


def as_tenure_error(error: psycopg.Error) -> TenureError:
    """The sentence a user gets for an error of the driver."""
    message = error.diag.message_primary or str(error).strip() or type(error).__name__
    if isinstance(error, psycopg.DataError | psycopg.ProgrammingError) and not error.sqlstate:
        return InputRefused(message)  # the driver refused it before the database saw it
    return _sentence(error.sqlstate or "", message)


def find_tenure_error(error: Exception) -> TenureError | None:
    """The same for an error of somebody else's library; none when it is not the database's."""
    chain: list[BaseException] = []
    inner: BaseException | None = error
    while inner is not None and inner not in chain:
        chain.append(inner)
        inner = getattr(inner, "orig", None) or inner.__cause__
    # The driver's own error is the innermost; what wraps it repeats its state in other words.
    for inner in reversed(chain):
        if isinstance(inner, psycopg.Error):
            return as_tenure_error(inner)
        state = getattr(inner, "sqlstate", None) or getattr(inner, "pgcode", None)
        if isinstance(state, str):
            diag = getattr(inner, "diag", inner)
            message = getattr(diag, "message_primary", None) or getattr(diag, "message", None)
            return _sentence(state, message or str(inner))
    return None


def _sentence(state: str, message: str) -> TenureError:
    if len(message) > _LONGEST:  # it quotes what was handed in
        message = f"{message[:_LONGEST]}..."
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
        return QueryTimeout(f"the database gave this up, and nothing was changed: {message}")
    why = " ".join(message.split())  # of libpq, over several lines
    if not state:
        return StoreUnavailable(f"the database cannot be reached: {why}")
    kind = WriteRefused if state.startswith(_REFUSED) else StoreUnavailable
    return kind(f"the database did not carry this out: {why}")
