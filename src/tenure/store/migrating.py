"""Migrations from outside the store: by URL, for people and for programs that start."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused, StoreUnavailable
from tenure.store import schema
from tenure.store.faults import fault
from tenure.store.schema import Plan


class Migrator:
    """Brings a database to what this code needs."""

    def __init__(self, url: str) -> None:
        self.url = url

    def migrate(self, tenant: Tenant, *, by: str | None = None, via: str = "python") -> list[Plan]:
        """What was done, by scope. A tenant that is new is on record in the default one."""
        with self._connection() as connection:
            return schema.migrate(connection, tenant, by=by, via=via)

    def pending(self, tenant: Tenant) -> list[Plan]:
        """What would be done, by scope."""
        with self._connection() as connection:
            return schema.pending(connection, tenant)

    def tenants(self) -> list[Tenant]:
        """Every tenant there is."""
        with self._connection() as connection:
            return schema.tenants(connection)

    def drop(
        self, tenant: Tenant, *, force: bool = False, by: str | None = None, via: str = "python"
    ) -> None:
        """Delete a tenant with all its jobs and tokens; the default one cannot be dropped.

        Refused while workers hold jobs of it, unless by force. The default tenant's audit says who.
        """
        if tenant.schema == "tenure":
            raise InputRefused("the default tenant cannot be dropped; drop the schema by hand")
        with self._connection() as connection:
            schema.drop(connection, tenant, force=force, by=by, via=via)

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection]:
        try:
            with psycopg.connect(self.url, autocommit=True, connect_timeout=10) as connection:
                version = connection.info.server_version
                if version < 140000:
                    raise StoreUnavailable(
                        f"this is PostgreSQL {version // 10000}; Tenure needs 14 or newer"
                    )
                # Who has waited for another's migration must see what it did.
                connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
                yield connection
        except psycopg.Error as error:
            raise fault(error) from error
