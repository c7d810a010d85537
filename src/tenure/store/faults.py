"""What went wrong in the database, as one of our own errors."""

import psycopg

from tenure.errors import (
    IllegalTransition,
    InputRefused,
    JobNotFound,
    KeyTaken,
    NotAllowed,
    NotFound,
    SchemaMismatch,
    StoreUnavailable,
    TenureError,
)

_RAISED: dict[str, type[TenureError]] = {  # by the verbs themselves
    "TN001": InputRefused,
    "TN002": JobNotFound,
    "TN003": IllegalTransition,
    "TN004": KeyTaken,
    "TN006": NotFound,
}
_MISSING = {"3F000", "42883", "42P01", "42704"}  # schema, function, table, type
_CONTENDED = {"40001", "40P01", "55P03"}  # serialization, deadlock, lock not available


def is_contention(error: psycopg.Error) -> bool:
    """Nothing was done because somebody else was at it; the same again may well succeed."""
    return error.sqlstate in _CONTENDED


def is_outage(error: psycopg.Error) -> bool:
    """The connection is gone; what it was doing may or may not have been committed."""
    state = error.sqlstate or ""
    lost = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and not state
    return lost or state.startswith(("08", "57P", "53"))


def fault(error: psycopg.Error) -> TenureError:
    """The sentence a user gets for an error of the driver."""
    message = error.diag.message_primary or str(error).strip() or type(error).__name__
    return _sentence(error.sqlstate or "", message)


def fault_of(error: Exception) -> Exception:
    """The same for an error of somebody else's driver; what is none of ours stays as it is."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, psycopg.Error):
            return fault(inner)
        if isinstance(state := getattr(inner, "sqlstate", None), str):
            return _sentence(state, getattr(inner, "message", None) or str(inner))
        inner = getattr(inner, "orig", None) or inner.__cause__
    return error


def _sentence(state: str, message: str) -> TenureError:
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
    return StoreUnavailable(f"the database did not carry this out: {message}")
