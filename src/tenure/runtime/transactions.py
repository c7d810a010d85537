"""The transaction of a job that also completes it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

from tenure.config import Settings
from tenure.domain.tenant import Tenant
from tenure.runtime.runner.attempt import Attempt
from tenure.store.transaction import AsyncTransaction, Fence, Transaction


class JobTransaction:
    """``with`` or ``async with``; the target has ``connection`` and ``complete(result)``.

    The keeper learns of it first, and ends its database session if it has to kill the job.
    """

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        link, work = attempt.link, attempt.work
        self._url = str(link.settings["url"])
        self._fence = Fence(UUID(link.worker), work.id, work.token, Tenant(link.tenant))
        self._settings: Settings = link.app.settings
        self._idle = timedelta(seconds=float(link.settings["lease"]))

    def __enter__(self) -> Transaction:
        self._attempt.request("transaction")
        self._plain = Transaction(self._url, self._fence, self._settings, idle=self._idle)
        return self._plain.__enter__()

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool | None:
        if kind is None:
            # Reports made until now still count; after the commit none can.
            self._attempt.make_context().flush()
        with self._committing(kind is None):
            return self._plain.__exit__(kind, error, traceback)

    @contextmanager
    def _committing(self, commits: bool) -> Iterator[None]:
        self._attempt.shield()  # an interrupted commit may or may not have happened
        try:
            yield
            self._attempt.committed = commits
        finally:
            self._attempt.unshield()

    async def __aenter__(self) -> AsyncTransaction:
        await self._attempt.arequest("transaction")
        self._async = AsyncTransaction(self._url, self._fence, self._settings, idle=self._idle)
        return await self._async.__aenter__()

    async def __aexit__(self, kind: Any, error: Any, traceback: Any) -> bool | None:
        if kind is None:
            await self._attempt.make_context().aflush()
        with self._committing(kind is None):
            return await self._async.__aexit__(kind, error, traceback)
