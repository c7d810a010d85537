"""A transaction that commits the writes of a job together with its completion.

The job is not locked while its code runs, or a stop would wait for it. Its end is written directly
before the commit, fenced by the token, and if it is refused everything is rolled back. The session
has a name, so that a keeper that kills the job can end it too: a statement continues after the
death of its client. The server itself ends a session that is idle for longer than a lease.
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import msgspec
import psycopg

from tenure.config import Settings
from tenure.domain.job import JSON
from tenure.domain.lifecycle import State
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import LeaseLost, StoreUnavailable, TenureError
from tenure.store.call import Call
from tenure.store.calls.worker_calls import finish, report
from tenure.store.connection import aconnect, connect
from tenure.store.driver_errors import as_tenure_error, is_outage
from tenure.store.drivers import asend_on, send_on
from tenure.store.new_jobs import encode_bounded
from tenure.store.outcomes import Ending, Report
from tenure.store.results import Finished, Reported
from tenure.store.transport import retry_delays

_CHECK_CLIENT_EVERY = timedelta(seconds=2)

# For this transaction only: a pooler may give the session to others afterwards.
_LIMITS = """
    SELECT pg_catalog.set_config(s.name, CASE s.name
        WHEN 'client_connection_check_interval' THEN %(check)s ELSE %(idle)s END, true)
    FROM pg_catalog.pg_settings AS s
    WHERE s.name IN ('client_connection_check_interval', 'idle_in_transaction_session_timeout')
"""


@dataclass(frozen=True)
class Fence:
    """The attempt that a transaction belongs to."""

    worker: UUID
    job: int
    token: int
    tenant: Tenant = DEFAULT

    @property
    def session_name(self) -> str:
        """Return the same name as session_name.sql."""
        digest = hashlib.sha256(f"{self.tenant.name} {self.token}".encode()).hexdigest()
        return f"tenure {self.job}-{digest[:16]}"


class _Work:
    """The parts that both kinds share."""

    def __init__(
        self,
        url: str,
        fence: Fence,
        settings: Settings | None = None,
        *,
        idle: timedelta | None = None,  # between two statements; None: a lease
    ) -> None:
        self._url = url
        self._fence = fence
        self._settings = settings or Settings()
        self._idle = idle or self._settings.lease
        self.text = b"null"  # the result as JSON
        self.stored: str | None = None  # the artifact that has it instead
        self._is_over = False  # the code of the job has returned

    def complete(self, value: JSON) -> None:
        """Set the result of the job, valid once the transaction is committed."""
        settings = self._settings
        max_bytes = max(settings.max_result_bytes, settings.max_artifact_bytes)
        self.text = encode_bounded(value, "the result", max_bytes)

    @property
    def _options(self) -> dict[str, Any]:
        return {"application_name": self._fence.session_name}

    @property
    def _limits(self) -> dict[str, str]:
        spans = {"idle": self._idle, "check": _CHECK_CLIENT_EVERY}
        return {name: f"{round(span.total_seconds() * 1000)}ms" for name, span in spans.items()}

    @property
    def _end(self) -> Call[Finished]:
        value = msgspec.Raw(self.text) if self.stored is None else None
        end = Ending(
            job=self._fence.job,
            token=self._fence.token,
            outcome="completed",
            value=value,
            stored=self.stored,
        )
        return finish(self._fence.worker, [end]).of(self._fence.tenant)

    @property
    def _probe(self) -> Call[Reported]:
        """Return an empty report, whose refusal is recorded; that of the end is rolled back."""
        probe = Report(job=self._fence.job, token=self._fence.token)
        return report(self._fence.worker, [probe]).of(self._fence.tenant)

    def _is_settled(self, finished: Finished, pause: float | None) -> bool:
        """Return whether the job is completed, false if it is locked; raise if it cannot be."""
        if finished.accepted.get(self._fence.job) is State.COMPLETED:
            return True
        if finished.busy and pause is not None:
            return False
        why = "it is locked" if finished.busy else "this worker no longer holds it"
        if finished.repeated:
            why = "this attempt has already ended"
        raise LeaseLost(
            f"job {self._fence.job} was not completed, because {why}; its transaction was rolled "
            f"back"
        )

    def _explained(self, error: psycopg.Error) -> Exception:
        if not self._is_over:
            return error  # of a statement of the job
        if is_outage(error):
            return StoreUnavailable(
                f"the connection was lost while job {self._fence.job} was being completed; "
                f"the outcome is unknown"
            )
        return as_tenure_error(error)


class Transaction(_Work):
    """A transaction in synchronous code.

    >>> with Transaction(url, fence) as transaction:
    ...     transaction.connection.execute("INSERT INTO report ...")
    ...     transaction.complete({"rows": 1})
    """

    connection: psycopg.Connection[tuple[Any, ...]]

    @property
    def backend_pid(self) -> int:
        return self.connection.info.backend_pid

    def __enter__(self) -> Self:
        self._run = self._context()
        return self._run.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        return self._run.__exit__(kind, error, traceback)

    @contextmanager
    def _context(self) -> Iterator[Self]:
        connection = connect(self._url, self._settings, **self._options)
        with closing(connection) as self.connection:
            try:
                with connection.transaction():
                    connection.execute(_LIMITS, self._limits)
                    yield self
                    self._is_over = True
                    self._finish()
            except LeaseLost:
                with suppress(TenureError):
                    send_on(connection, self._probe)
                raise
            except psycopg.Error as error:
                raise self._explained(error) from error

    def _finish(self) -> None:
        for pause in retry_delays():
            if self._is_settled(send_on(self.connection, self._end), pause):
                return
            time.sleep(pause or 0)


class AsyncTransaction(_Work):
    """A transaction in async code."""

    connection: psycopg.AsyncConnection[tuple[Any, ...]]

    @property
    def backend_pid(self) -> int:
        return self.connection.info.backend_pid

    async def __aenter__(self) -> Self:
        self._run = self._context()
        return await self._run.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        return await self._run.__aexit__(kind, error, traceback)

    @asynccontextmanager
    async def _context(self) -> AsyncIterator[Self]:
        connection = await aconnect(self._url, self._settings, **self._options)
        self.connection = connection
        try:
            async with connection.transaction():
                await connection.execute(_LIMITS, self._limits)
                yield self
                self._is_over = True
                await self._finish()
        except LeaseLost:
            with suppress(TenureError):
                await asend_on(connection, self._probe)
            raise
        except psycopg.Error as error:
            raise self._explained(error) from error
        finally:
            await connection.close()

    async def _finish(self) -> None:
        for pause in retry_delays():
            if self._is_settled(await asend_on(self.connection, self._end), pause):
                return
            await asyncio.sleep(pause or 0)
