"""The transaction of a job that also completes it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

from tenure.config import Settings
from tenure.domain.job import RESULT_ARTIFACT
from tenure.domain.tenant import Tenant
from tenure.runtime.large_values import store_result
from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.steps.effects import Work, aperform, perform
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
            try:
                perform(self._attempt, self._store_large(self._plain))
                # Reports made until now still count; after the commit none can.
                self._attempt.make_context().flush()
            except BaseException as problem:
                self._plain.__exit__(type(problem), problem, problem.__traceback__)
                raise
        with self._committing(kind is None):
            return self._plain.__exit__(kind, error, traceback)

    def _store_large(self, transaction: Transaction | AsyncTransaction) -> Work[None]:
        in_row = self._settings.max_result_bytes
        if (yield from store_result(self._attempt, transaction.text, in_row)):
            transaction.stored = RESULT_ARTIFACT

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
            try:
                await aperform(self._attempt, self._store_large(self._async))
                await self._attempt.make_context().aflush()
            except BaseException as problem:
                await self._async.__aexit__(type(problem), problem, problem.__traceback__)
                raise
        with self._committing(kind is None):
            return await self._async.__aexit__(kind, error, traceback)
