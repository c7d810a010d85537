"""The app of a project, whose calls are part of the transactions of Django."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from asgiref.sync import async_to_sync, sync_to_async
from django.db import connections, transaction

from tenure.app import Tenure
from tenure.config import Settings
from tenure.contrib.django.configuration import Configuration, url_of
from tenure.contrib.django.connections import with_fresh_connections
from tenure.control.operation import Operation, aperform, perform
from tenure.control.signature import Signature
from tenure.control.task import Task
from tenure.domain.options import Executor
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import InputRefused, SettingInvalid, TenureError
from tenure.store.call import Call
from tenure.store.drivers import send_on

T = TypeVar("T")

_is_outside: ContextVar[bool] = ContextVar("tenure_outside_transaction", default=False)


class DjangoTenure(Tenure):
    """An app whose jobs are in one of the databases of Django.

    Its calls use the connection of Django, so a job that is enqueued in ``transaction.atomic()`` is
    there when the transaction commits, and never if it rolls back.
    """

    def __init__(self) -> None:
        self._problem: TenureError | None = None
        try:
            given = Configuration.read()
        except TenureError as why:  # raised at the first use: the checks of Django come before it
            given, self._problem = Configuration(Settings(), None), why
        super().__init__(settings=given.settings)
        self.alias = given.alias
        self._has_own_url = self._url is not None
        self._is_redirected = False

    @property
    def has_url(self) -> bool:
        """Tell whether a URL is configured, or a database of Django is used."""
        return super().has_url or self.alias is not None

    @property
    def uses_django(self) -> bool:
        """Tell whether the jobs are in a database of Django."""
        self._prepare()
        if self._is_redirected or self.alias is None:
            return False
        if self._has_own_url:
            with suppress(SettingInvalid):  # a database of another kind is not that of the jobs
                return self._url == url_of(self.alias)
            return False
        return True

    @property
    def is_separate(self) -> bool:
        """Tell whether the jobs are in a database that no transaction of Django reaches."""
        return not self.uses_django and not self._is_redirected

    @contextmanager
    def outside_transaction(self) -> Iterator[None]:
        """Enqueue at once, over another connection, whatever becomes of the transaction."""
        before = _is_outside.set(True)
        try:
            yield
        finally:
            _is_outside.reset(before)

    def redirect(self, url: str, artifacts: str) -> Callable[[], None]:
        """Use another database and storage until the returned function is called; for tests."""
        restore, before = super().redirect(url, artifacts), self._is_redirected
        self._is_redirected = True

        def restore_all() -> None:
            restore()
            self._is_redirected = before

        return restore_all

    def perform(
        self, operation: Operation[T], tenant: Tenant = DEFAULT, connection: Any = None
    ) -> T:
        """Perform an operation over the connection of Django, in its transaction."""
        if connection is not None or not self.uses_django:
            return super().perform(operation, tenant, connection)
        waits = _is_outside.get() or not connections[self.alias].in_atomic_block
        sleep = time.sleep if waits else _refuse_to_sleep
        return perform(operation, lambda call: self._send(call.of(tenant)), sleep)

    async def aperform(
        self, operation: Operation[T], tenant: Tenant = DEFAULT, connection: Any = None
    ) -> T:
        """Async version of ``perform``."""
        if connection is not None or not self.uses_django:
            return await super().aperform(operation, tenant, connection)
        send = sync_to_async(self._send)
        return await aperform(operation, lambda call: send(call.of(tenant)))

    def _send(self, call: Call[T]) -> T:
        connection = connections[self.alias]
        if not connection.in_atomic_block and connection.get_autocommit():
            return send_on(connection, call)
        if _is_outside.get():
            with closing(connection.copy()) as other:
                return send_on(other, call)
        with transaction.atomic(using=self.alias):  # a refusal must not break the rest
            return send_on(connection, call)

    def _run_coroutine(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a coroutine so that it sees the rows of the test that calls it."""
        return async_to_sync(function)(*args, **kwargs)

    async def _run_in_thread(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a function so that it sees the rows of the test that calls it."""
        return await sync_to_async(function)(*args, **kwargs)

    def _prepare(self) -> None:
        if self._problem is not None:
            raise self._problem
        super()._prepare()
        if self.alias is None or self._has_own_url or self._is_redirected:
            return
        if (url := url_of(self.alias)) != self._url:
            self.close()
            self._url, self._of_loops = url, WeakKeyDictionary()

    def _added(
        self,
        name: str,
        function: Callable[..., Any],
        signature: Signature,
        executor: Executor,
        written: dict[str, Any],
    ) -> Task[..., Any]:
        fresh = with_fresh_connections(function)
        return super()._added(name, fresh, signature, executor, written)


def _refuse_to_sleep(_: float) -> None:
    raise InputRefused(
        "this would wait for a job inside a transaction, and workers see nothing of a transaction "
        "before its commit; wait after it"
    )


app = DjangoTenure()
