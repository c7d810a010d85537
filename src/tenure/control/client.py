"""The connection of an app to its database: yours, or an embedded one under ./.tenure."""

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar
from weakref import WeakKeyDictionary

from tenure.config import Settings
from tenure.control.operation import Operation, aperform, perform
from tenure.domain.job import Job
from tenure.domain.principal import Principal
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.domain.values import shown
from tenure.errors import (
    UNIX_MODULES,
    EmbeddedUnavailable,
    InputRefused,
    SettingInvalid,
    StoreUnavailable,
)
from tenure.store.call import Call
from tenure.store.calls import queries

if TYPE_CHECKING:
    from tenure.control.authorized_client import AuthorizedClient
    from tenure.control.schedule import Schedule
    from tenure.control.task import Task
    from tenure.store.embedded import Embedded
    from tenure.store.migrating import Migrator
    from tenure.store.store import AsyncStore, Store

T = TypeVar("T")

log = logging.getLogger("tenure")


class Client:
    """Jobs in one PostgreSQL.

    Connections are opened at the first use, and again at the first use after a close. Without a
    URL, neither given nor in TENURE_DATABASE_URL, the first use also starts an embedded PostgreSQL
    under ``./.tenure`` (shared by every process that uses that folder) and migrates it.
    """

    # The driver is imported where it is needed: it takes longer to load than everything else, and
    # most runners never connect.

    tasks: "Mapping[str, Task[..., Any]]" = MappingProxyType({})  # an app has some
    schedules: "Mapping[str, Schedule]" = MappingProxyType({})  # an app has some
    may_create = True  # an embedded PostgreSQL, where there is none yet
    # Called before a client uses its database. The sandbox of a test gives it another.
    before_use: "ClassVar[Callable[[Client], None] | None]" = None

    def __init__(self, url: str | None = None, *, settings: Settings | None = None) -> None:
        if not isinstance(settings, Settings | None):
            raise SettingInvalid(f"settings: it takes Settings(...), not {shown(settings)}")
        if not isinstance(url, str | None):
            raise SettingInvalid(f"url: it takes a str, not {type(url).__name__}")
        self.settings = settings or Settings.from_environment(os.environ)
        self._url = url or self.settings.database_url
        self._embedded: Embedded | None = None
        self._opening = threading.RLock()
        self._store: Store | None = None
        self._of_loops: MutableMapping[asyncio.AbstractEventLoop, _LoopStore] = WeakKeyDictionary()

    @property
    def url(self) -> str:
        """Return the URL of the database; start the embedded PostgreSQL if there is no other."""
        self._prepare()
        if self._url is not None:
            return self._url
        with self._opening:
            if self._embedded is None:
                embedded = _embedded_server()
                folder = Path(self.settings.folder)
                if not self.may_create:
                    embedded.require_database(folder)
                self._embedded = _migrated(embedded.Embedded.open(folder))
            return self._embedded.url

    @property
    def embedded(self) -> "Embedded | None":
        """Return the embedded PostgreSQL if this client has opened it."""
        return self._embedded

    @property
    def has_url(self) -> bool:
        """Tell whether a URL is configured; otherwise the embedded PostgreSQL is used."""
        return self._url is not None

    @property
    def known_url(self) -> str | None:
        """Return the URL of the database if one is configured; start nothing."""
        self._prepare()
        return self._url

    @property
    def store(self) -> "Store":
        """Return the store of the default tenant."""
        return self.store_of(DEFAULT)

    def store_of(self, tenant: Tenant | str) -> "Store":
        """Return the store of a tenant; all tenants share their connections."""
        from tenure.store.store import Store

        self._prepare()
        with self._opening:
            if self._store is None or self._store.is_closed:
                self._store = Store(self.url, settings=self.settings)
            return self._store.of(as_tenant(tenant))

    def async_store(self, tenant: Tenant | str = DEFAULT) -> "AsyncStore":
        """Return a new store for async code; open it with ``async with``."""
        from tenure.store.store import AsyncStore

        return AsyncStore(self.url, as_tenant(tenant), self.settings)

    async def astore_of(self, tenant: Tenant | str = DEFAULT) -> "AsyncStore":
        """Return the open store of this event loop; ``aclose`` closes it."""
        self._prepare()
        loop = asyncio.get_running_loop()
        store = self._of_loops.get(loop)
        if store is None:
            with self._opening:
                store = self._of_loops.setdefault(loop, _LoopStore())
        return (await store.opened(self)).of(as_tenant(tenant))

    def redirect(self, url: str, artifacts: str) -> Callable[[], None]:
        """Use another database and storage until the returned function is called; for tests."""
        before = self._url, self._embedded, self._store, self._of_loops, self.settings
        self._url, self._embedded, self._store = url, None, None
        self.settings = self.settings.replace(artifacts=artifacts)
        self._of_loops = WeakKeyDictionary()

        def restore() -> None:
            self.close()  # connections of event loops are closed when they are forgotten
            self._url, self._embedded, self._store, self._of_loops, self.settings = before

        return restore

    def _prepare(self) -> None:
        if Client.before_use is not None:
            Client.before_use(self)

    def acting_as(self, principal: Principal) -> "AuthorizedClient":
        """Return a client that acts for a principal, in their tenant and with their role."""
        from tenure.control.authorized_client import AuthorizedClient

        return AuthorizedClient(self, principal)

    def migrate(self, tenant: Tenant | str = DEFAULT) -> None:
        """Migrate the database to this version."""
        _migrator(self.url).migrate(as_tenant(tenant))

    def create_tenant(
        self, tenant: Tenant | str, *, by: str | None = None, via: str = "python"
    ) -> bool:
        """Create a tenant; return false if it exists. Only the owner of the schema can."""
        made = _migrator(self.url).migrate(as_tenant(tenant), by=by, via=via)
        return made[-1].is_new

    def drop_tenant(
        self,
        tenant: Tenant | str,
        *,
        force: bool = False,
        by: str | None = None,
        via: str = "python",
    ) -> None:
        """Delete a tenant with all its jobs and tokens; only the owner of the schema can.

        Refused while workers hold its jobs, unless ``force`` is set.
        """
        _migrator(self.url).drop(as_tenant(tenant), force=force, by=by, via=via)

    def perform(
        self, operation: Operation[T], tenant: Tenant = DEFAULT, connection: Any = None
    ) -> T:
        """Perform an operation as a tenant, inside the caller's own transaction if there is one."""

        def send(call: Call[Any]) -> Any:
            if connection is not None:
                from tenure.store.drivers import send_on

                return send_on(connection, call.of(tenant))
            return self.store_of(tenant).send(call)

        return perform(operation, send)

    async def aperform(
        self, operation: Operation[T], tenant: Tenant = DEFAULT, connection: Any = None
    ) -> T:
        """Async version of ``perform``."""

        async def send(call: Call[Any]) -> Any:
            if connection is not None:
                from tenure.store.drivers import asend_on

                return await asend_on(connection, call.of(tenant))
            return await (await self.astore_of(tenant)).send(call)

        return await aperform(operation, send)

    def read_result(self, job: Job) -> Any:
        """Return the result of a completed job; an app that knows its task converts it."""
        return job.result

    def check_cancellation_requested(self, job: int, *, tenant: Tenant | str = DEFAULT) -> bool:
        """Tell whether a stop of this job was requested.

        If the database is unavailable, log a warning and return false. A job that does not
        exist is an error.
        """
        return self.perform(_cancel_requested(job), as_tenant(tenant))

    async def acheck_cancellation_requested(
        self, job: int, *, tenant: Tenant | str = DEFAULT
    ) -> bool:
        """Async version of ``check_cancellation_requested``."""
        return await self.aperform(_cancel_requested(job), as_tenant(tenant))

    def close(self) -> None:
        """Close what sync code opened; the embedded PostgreSQL stops with its last user."""
        with self._opening:
            store, self._store = self._store, None
            if store is not None:
                store.close()
            if self._embedded is not None:
                self._embedded.close()
                self._embedded = None

    async def aclose(self) -> None:
        """Close what this event loop opened, and all that ``close`` closes."""
        await self.aclose_loop()
        if self._store is not None or self._embedded is not None:
            await asyncio.to_thread(self.close)

    async def aclose_loop(self) -> None:
        """Close what this event loop opened."""
        store = self._of_loops.pop(asyncio.get_running_loop(), None)
        if store is not None:
            await store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _LoopStore:
    """The store of one event loop; a connection cannot be used in another loop."""

    def __init__(self) -> None:
        self._opening = asyncio.Lock()
        self._store: AsyncStore | None = None

    async def opened(self, client: Client) -> "AsyncStore":
        if self._store is None or self._store.is_closed:
            async with self._opening:
                if self._store is None or self._store.is_closed:
                    # In a thread: to start PostgreSQL takes seconds.
                    await asyncio.to_thread(lambda: client.url)
                    store = client.async_store()
                    await store.open()
                    self._store = store
        return self._store

    async def close(self) -> None:
        async with self._opening:
            store, self._store = self._store, None
            if store is not None:
                await store.close()


def as_tenant(tenant: Tenant | str) -> Tenant:
    """Return a tenant from itself or its name."""
    if not isinstance(tenant, Tenant | str):
        raise InputRefused(f"a tenant is named by a str, not {shown(tenant)}")
    return Tenant(tenant) if isinstance(tenant, str) else tenant


def _migrator(url: str) -> "Migrator":
    from tenure.store.migrating import Migrator

    return Migrator(url)


def _embedded_server() -> ModuleType:
    try:
        from tenure.store import embedded
    except ModuleNotFoundError as error:
        if error.name not in UNIX_MODULES:
            raise
        raise EmbeddedUnavailable(
            f"there is no embedded PostgreSQL on {sys.platform}; name yours with a URL or "
            f"TENURE_DATABASE_URL"
        ) from None
    return embedded


def _migrated(embedded: "Embedded") -> "Embedded":
    try:
        _migrator(embedded.url).migrate(DEFAULT)
    except BaseException:
        embedded.close()
        raise
    return embedded


def _cancel_requested(job: int) -> Operation[bool]:
    try:
        seen: Job = yield queries.show(job)
    except StoreUnavailable as error:
        log.warning("it is unknown whether a stop of job %s was requested: %s", job, error)
        return False
    return seen.cancel_requested
