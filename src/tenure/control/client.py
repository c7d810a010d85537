"""The entry: Tenure on your database, or on one of its own under ./.tenure."""

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from tenure.config import Settings
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.store.embedded import Embedded
from tenure.store.migrating import Migrator
from tenure.store.store import AsyncStore, Store


class Tenure:
    """Jobs in one PostgreSQL.

    Without a URL, neither given nor in TENURE_DATABASE_URL, an embedded PostgreSQL is started under
    ``./.tenure`` (shared by every process that uses that folder) and brought up to date.
    """

    def __init__(self, url: str | None = None, *, settings: Settings | None = None) -> None:
        self.settings = settings or Settings.from_environment(os.environ)
        self._embedded: Embedded | None = None
        url = url or self.settings.database_url
        if url is None:
            self._embedded = Embedded.open(Path(self.settings.folder))
            url = self._embedded.url
            try:
                Migrator(url).migrate(DEFAULT)
            except BaseException:
                self._embedded.close()
                raise
        self.url = url
        self._stores: dict[Tenant, Store] = {}

    @property
    def store(self) -> Store:
        """The verbs for the default tenant."""
        return self.store_of(DEFAULT)

    def store_of(self, tenant: Tenant | str) -> Store:
        tenant = Tenant(tenant) if isinstance(tenant, str) else tenant
        if tenant not in self._stores:
            self._stores[tenant] = Store(self.url, tenant, self.settings)
        return self._stores[tenant]

    def async_store(self, tenant: Tenant | str = DEFAULT) -> AsyncStore:
        """A store for async code; open it with ``async with``."""
        tenant = Tenant(tenant) if isinstance(tenant, str) else tenant
        return AsyncStore(self.url, tenant, self.settings)

    def migrate(self, tenant: Tenant | str = DEFAULT) -> None:
        """Bring the database to what this version needs."""
        Migrator(self.url).migrate(Tenant(tenant) if isinstance(tenant, str) else tenant)

    def close(self) -> None:
        for store in self._stores.values():
            store.close()
        if self._embedded is not None:
            self._embedded.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
