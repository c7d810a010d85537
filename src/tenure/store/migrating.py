"""Migrations from outside the store: by URL, for people and for programs that start."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import psycopg

from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused, StoreUnavailable
from tenure.store import schema
from tenure.store.connection import connect
from tenure.store.driver_errors import as_tenure_error, is_contention
from tenure.store.schema import Plan
from tenure.store.transport import retry_delays

T = TypeVar("T")


class Migrator:
    """Brings a database to what this code needs."""

    def __init__(self, url: str) -> None:
        self.url = url

    def migrate(self, tenant: Tenant, *, by: str | None = None, via: str = "python") -> list[Plan]:
        """Migrate, and return what was done; the default tenant records who made a new tenant."""
        return self._carry_out(lambda to: schema.migrate(to, tenant, by=by, via=via))

    def pending(self, tenant: Tenant) -> list[Plan]:
        """Return what a migration would do, by scope."""
        return self._carry_out(lambda at: schema.pending(at, tenant))

    def tenants(self) -> list[Tenant]:
        """Every tenant there is."""
        return self._carry_out(schema.tenants)

    def drop(
        self, tenant: Tenant, *, force: bool = False, by: str | None = None, via: str = "python"
    ) -> None:
        """Delete a tenant with all its jobs and tokens; the default one cannot be dropped.

        Refused while workers hold jobs of it, unless by force. The default tenant's audit says who.
        """
        if tenant.schema == "tenure":
            raise InputRefused("the default tenant cannot be dropped; drop the schema by hand")
        self._carry_out(lambda at: schema.drop(at, tenant, force=force, by=by, via=via))

    def _carry_out(self, work: Callable[[psycopg.Connection], T]) -> T:
        """All of it or nothing. Again, where it and somebody at work waited for each other."""
        for pause in retry_delays():
            try:
                with self._connection() as connection:
                    return work(connection)
            except psycopg.Error as error:
                if pause is None or not is_contention(error):
                    raise as_tenure_error(error) from error
            time.sleep(pause)
        raise AssertionError

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection]:
        with connect(self.url, None) as connection:
            version = connection.info.server_version
            if version < 140000:
                raise StoreUnavailable(
                    f"this is PostgreSQL {version // 10000}; Tenure needs 14 or newer"
                )
            # Who has waited for another's migration must see what it did.
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
            yield connection
