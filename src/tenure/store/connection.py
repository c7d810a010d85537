"""Open a connection to the database, or explain in one sentence why that failed.

The driver reports a refused connection as text, without an error code. The patterns below match an
English server; messages in other languages are quoted. No sentence contains the password.
"""

import re
from typing import Any

import msgspec
import psycopg
from psycopg.conninfo import conninfo_to_dict

from tenure.config import Settings
from tenure.errors import SchemaMismatch, StoreUnavailable
from tenure.store import schema
from tenure.store.transport import connect_options, connect_timeout, prepare_if_direct

_UNREADABLE = (
    "the database cannot be reached: its URL cannot be read; the form is "
    "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, and characters such as @ : / ? # % or a space "
    "in the password are written as %40 %3A %2F %3F %23 %25 %20"
)

# Each pattern with its sentence: {0} is all that matched, {1} and so on are the groups.
# Permanent causes need an administrator; transient ones, like a restart, may pass by themselves.
_PERMANENT = (
    (
        r'password authentication failed for user "(.*?)"',
        'the password of the database user "{1}" is wrong, or there is no such user',
    ),
    (
        r"no password supplied",
        "the server asks for a password, and the database URL has none",
    ),
    (r'role "(.*?)" does not exist', 'there is no database user "{1}" on that server'),
    (
        r'role "(.*?)" is not permitted to log in',
        'the database user "{1}" may not log in; allow it with: ALTER ROLE "{1}" LOGIN',
    ),
    (
        r'database "(.*?)" does not exist',
        'there is no database "{1}" on that server; create it, or correct the URL',
    ),
    (
        r'permission denied for database "(.*?)"',
        'the database user may not connect to the database "{1}"',
    ),
    (
        r'pg_hba\.conf \S+ (?:connection )?for host "[^,]*, user "([^,]*)", .*, no encryption',
        'the server refuses unencrypted connections of user "{1}"; try sslmode=require in the URL',
    ),
    (
        r"(?:no pg_hba\.conf entry|pg_hba\.conf rejects connection) for .*",
        "the server refuses this connection: {0}",
    ),
    (
        r"server does not support SSL, but SSL was required",
        "the server does not support TLS, and the sslmode of the URL requires it",
    ),
    (
        r"(?:root certificate file|certificate verify failed|server certificate for|SSL error).*",
        "no TLS connection could be made: {0}",
    ),
    (r"failed to resolve host '(.*?)': (?!.*Temporary failure)", 'there is no host "{1}"'),
)
_TRANSIENT = (
    (
        r"(?:sorry, )?(too many (?:clients|connections).*|remaining connection slots.*)",
        "the server has no connection left ({1})",
    ),
    (
        r"failed to resolve host '(.*?)'",
        'the host "{1}" cannot be looked up at the moment',
    ),
    (
        r'server at "(.*?)"[^,]*, port (\d+) failed: Connection refused',
        "nothing listens on port {2} of {1} (connection refused)",
    ),
    (
        r'socket "(.*?)/\.s\.PGSQL\.(\d+)" failed: (No such file or directory|Connection refused)',
        "no server listens on port {2} in the socket folder {1} ({3})",
    ),
    (r"(?:the database system is|FATAL:) .*", "{0}"),
    (r"timeout expired", "the server did not answer in time"),
)
_CANNOT_READ = ("3F000", "42501", "42883")  # no schema, no privilege, no function


def parse_url(url: str) -> dict[str, Any]:
    """Return the parts of a database URL; refuse an unreadable one without quoting it.

    An unescaped character in the password moves a part of it into the host, the port or the name
    of the database, which error messages show.
    """
    try:
        parts = conninfo_to_dict(url)
    except (psycopg.Error, ValueError):
        parts = None
    if parts is None or _is_misread(parts):
        # Outside the handler: the error of the driver quotes the URL and would become the context.
        raise StoreUnavailable(_UNREADABLE, may_pass=False)
    return parts


def describe_url(url: str) -> str:
    """Describe the database that a URL names, without the password."""
    parts = parse_url(url)
    host, port = str(parts.get("host") or "localhost"), str(parts.get("port") or "5432")
    name = parts.get("dbname") or parts.get("user") or "the default database"
    place = f"{host}:{port}" if not host.startswith("/") else f"{host}, port {port}"
    return f"{name} on {place}" + (f" as {parts['user']}" if parts.get("user") else "")


def _is_misread(parts: dict[str, Any]) -> bool:
    host, port, name = (str(parts.get(part) or "") for part in ("host", "port", "dbname"))
    is_path = host.startswith("/")
    return "@" in name or ("@" in host and not is_path) or not re.fullmatch("[0-9,]*", port)


def connect(url: str, settings: Settings | None, **more: Any) -> psycopg.Connection[Any]:
    """Open a connection in autocommit."""
    parse_url(url)
    try:
        return psycopg.connect(url, **{**connect_options(connect_timeout(settings)), **more})
    except (psycopg.Error, ValueError) as error:
        raise connect_error(error) from error


async def aconnect(
    url: str, settings: Settings | None, **more: Any
) -> psycopg.AsyncConnection[Any]:
    """Open a connection for async code."""
    parse_url(url)
    try:
        return await psycopg.AsyncConnection.connect(
            url, **{**connect_options(connect_timeout(settings)), **more}
        )
    except (psycopg.Error, ValueError) as error:
        raise connect_error(error) from error


def connect_error(error: Exception) -> StoreUnavailable:
    """Return a failure to connect as an error that names the cause."""
    text = " ".join(str(error).split())
    for causes, may_pass in ((_PERMANENT, False), (_TRANSIENT, True)):
        for pattern, sentence in causes:
            if found := re.search(pattern, text):
                why = sentence.format(found[0], *found.groups()).removeprefix("FATAL: ")
                return StoreUnavailable(f"the database cannot be reached: {why}", may_pass=may_pass)
    return StoreUnavailable(f"the database cannot be reached: {text or type(error).__name__}")


def begin_session(connection: psycopg.Connection[Any]) -> None:
    """Refuse a database that a newer version of Tenure has migrated; see ``prepare_if_direct``."""
    try:
        row = connection.execute(_NEWEST).fetchone()
    except psycopg.Error as error:
        _raise_unless_unreadable(error)
    else:
        _compare(row)
        prepare_if_direct(connection, row)


async def abegin_session(connection: psycopg.AsyncConnection[Any]) -> None:
    """Do the same as ``begin_session`` in async code."""
    try:
        row = await (await connection.execute(_NEWEST)).fetchone()
    except psycopg.Error as error:
        _raise_unless_unreadable(error)
    else:
        _compare(row)
        prepare_if_direct(connection, row)


_NEWEST = b"SELECT pg_catalog.pg_backend_pid(), CAST(tenure.newest_migrations() AS pg_catalog.text)"


def _raise_unless_unreadable(error: psycopg.Error) -> None:
    """Ignore a missing schema or privilege: the call that follows reports it."""
    if error.sqlstate not in _CANNOT_READ:
        raise error


def _compare(row: tuple[Any, ...] | None) -> None:
    assert row is not None
    for kind, found in msgspec.json.decode(row[1]).items():
        known = schema.migrations(kind)[-1].number
        if found > known:
            raise SchemaMismatch(
                f"the database is newer than this version of Tenure: it has migration {found:04} "
                f"of the {kind} schema, and the newest known here is {known:04}; upgrade Tenure"
            )
