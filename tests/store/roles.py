"""Database roles of one test: they belong to the whole cluster, so they are dropped by name."""

from contextlib import ExitStack
from typing import Any, Literal
from uuid import uuid4

import psycopg
from psycopg import sql as compose

from tenure.store.store import Store

Kind = Literal["producer", "viewer", "operator", "admin", "worker"]
KINDS: tuple[Kind, ...] = ("producer", "viewer", "operator", "admin", "worker")


class Roles:
    def __init__(self, owner: Store, sql: psycopg.Connection, url: str) -> None:
        self._owner, self._sql, self._url = owner, sql, url
        self._opened = ExitStack()
        self._names: list[str] = []

    def make(self, kind: Kind | None = None, *, delegate: bool = False) -> tuple[str, Store]:
        name = f"test_{kind or 'nobody'}_{uuid4().hex[:12]}"
        self._run("CREATE ROLE {} LOGIN", name)
        self._names.append(name)
        if delegate:
            self._run("GRANT tenure_delegate TO {}", name)
        if kind is not None:
            self._owner.admit(name, kind)
        return name, self._opened.enter_context(Store(self.url(name)))

    def connection(self, name: str) -> psycopg.Connection:
        return self._opened.enter_context(psycopg.connect(self.url(name), autocommit=True))

    def url(self, name: str) -> str:
        return self._url.replace("//postgres@", f"//{name}@")

    def drop(self) -> None:
        self._opened.close()
        for name in self._names:
            self._run("DROP OWNED BY {}", name)
            self._run("DROP ROLE {}", name)

    def _run(self, statement: Any, name: str) -> None:
        self._sql.execute(compose.SQL(statement).format(compose.Identifier(name)))
