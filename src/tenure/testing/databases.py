"""Throw-away databases: copies of a template that has the schema, on one server for a test run.

The server is an embedded PostgreSQL in a temporary folder, or yours. Several processes, such as the
workers of pytest-xdist, share it if they are given the same folder or URL, and the same prefix.
"""

import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
from psycopg.sql import SQL, Identifier

from tenure.domain.tenant import DEFAULT
from tenure.errors import SettingInvalid, StoreUnavailable
from tenure.store import schema
from tenure.store.embedded import Embedded
from tenure.testing.clock import Clock

# Nothing has to survive a crash of a server of tests.
_CARELESS = ("fsync = off", "full_page_writes = off", "autovacuum_naptime = '1h'")
# Names of databases: what follows the prefix, and all of it unless a prefix was given.
_MADE_HERE = "(template|template_new|[0-9a-f]{8}_[0-9]+)$"
_OF_A_RUN = f"^tenure_test_[0-9a-f]{{8}}_{_MADE_HERE}"
_LOCK = 7_204_310_442  # advisory: one process at a time makes the template
_COPY = "CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy"
_COPY_ON_14 = "CREATE DATABASE {} TEMPLATE {}"  # it copies files, and has no other strategy


class Databases:
    """The databases of a test run. Use it as a context manager.

    ``url`` names your own server, with a user who may create databases; left out, an embedded
    PostgreSQL runs in ``folder``, or in a temporary folder.
    """

    def __init__(
        self, url: str | None = None, *, folder: Path | None = None, prefix: str | None = None
    ) -> None:
        if url is not None and urlsplit(url).scheme not in ("postgresql", "postgres"):
            raise SettingInvalid("the URL of a server begins with postgresql://")
        self._url = url
        self._folder = folder
        self._owns_prefix = prefix is None
        self._prefix = prefix or new_prefix()
        self._numbers = count(1)
        self._names = f"{self._prefix}_{uuid4().hex[:8]}"
        self._has_template = False
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with self._stack:  # closed again if the server cannot be started
            self._open()
            self._stack = self._stack.pop_all()
        return self

    def _open(self) -> None:
        if self._url is None:
            folder = self._folder
            if folder is None:
                made = tempfile.TemporaryDirectory(prefix="tenure-test-")
                folder = Path(self._stack.enter_context(made))
            embedded = self._stack.enter_context(Embedded.open(folder / "pg"))
            self._url = embedded.url
            with self._server() as server:
                for setting in _CARELESS:
                    server.execute(f"ALTER SYSTEM SET {setting}".encode())
                server.execute("SELECT pg_reload_conf()")
        else:
            mark = psycopg.conninfo.make_conninfo(self._url, application_name=self._prefix)
            self._stack.enter_context(self._server(mark))
            self._drop_left_behind()
            if self._owns_prefix:
                self._stack.callback(self.drop_all)

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextmanager
    def database(self) -> Iterator[str]:
        """Make a database with the schema and no jobs, yield its URL, and drop it."""
        name = f"{self._names}_{next(self._numbers)}"
        with self._server() as server:
            self._prepare(server)
            copy = _COPY if server.info.server_version >= 150_000 else _COPY_ON_14
            server.execute(SQL(copy).format(Identifier(name), Identifier(self._template)))
        try:
            yield self._url_of(name)
        finally:
            with self._server() as server:
                _drop(server, name)

    def drop_all(self) -> None:
        """Drop the template, and what processes left behind that were killed."""
        with self._server() as server:
            found = server.execute(
                "SELECT datname FROM pg_database WHERE datname ~ %s",
                (f"^{re.escape(self._prefix)}_{_MADE_HERE}",),
            )
            for (name,) in found.fetchall():
                _drop(server, name)

    def _drop_left_behind(self) -> None:
        """Drop the databases of test runs that were killed: no connection has their prefix."""
        with self._server() as server:
            found = server.execute(
                "SELECT d.datname FROM pg_database AS d"
                " WHERE d.datname ~ %s AND pg_has_role(d.datdba, 'USAGE') AND NOT EXISTS ("
                "SELECT FROM pg_stat_activity AS a WHERE a.datname = d.datname"
                " OR starts_with(d.datname, a.application_name || '_'))",
                (_OF_A_RUN,),
            )
            for (name,) in found.fetchall():
                with suppress(psycopg.Error):  # another run drops it too
                    server.execute(SQL("DROP DATABASE IF EXISTS {}").format(Identifier(name)))

    @property
    def _template(self) -> str:
        return f"{self._prefix}_template"

    def _prepare(self, server: psycopg.Connection[Any]) -> None:
        """Make the template, unless this process or another has."""
        if self._has_template:
            return
        server.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))  # the connection is closed soon
        there = "SELECT FROM pg_database WHERE datname = %s"
        if server.execute(there, (self._template,)).fetchone() is None:
            made = f"{self._template}_new"  # it gets its name when it is complete
            _drop(server, made)
            server.execute(SQL("CREATE DATABASE {}").format(Identifier(made)))
            with psycopg.connect(self._url_of(made), autocommit=True) as connection:
                schema.migrate(connection, DEFAULT)
                Clock(connection)
            rename = SQL("ALTER DATABASE {} RENAME TO {}")
            server.execute(rename.format(Identifier(made), Identifier(self._template)))
        self._has_template = True

    def _server(self, url: str | None = None) -> psycopg.Connection[Any]:
        assert self._url is not None
        try:
            return psycopg.connect(url or self._url, autocommit=True)
        except psycopg.OperationalError as error:
            raise StoreUnavailable(
                f"the PostgreSQL for tests cannot be reached: {str(error).strip()}"
            ) from None

    def _url_of(self, name: str) -> str:
        parts = urlsplit(str(self._url))
        # Options may name a database, too, and would take precedence.
        options = [it for it in parts.query.split("&") if it and not it.startswith("dbname=")]
        return f"{parts.scheme}://{parts.netloc}/{name}{'?' if options else ''}{'&'.join(options)}"


def new_prefix() -> str:
    """Return a prefix for the names of the databases of a test run."""
    return f"tenure_test_{uuid4().hex[:8]}"


def _drop(server: psycopg.Connection[Any], name: str) -> None:
    server.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name)))
