"""The clean-up at the end of a job: partial results first, then all resources at once."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, Self

from tenure.domain.duration import duration
from tenure.errors import InputRefused
from tenure.runtime.resources.calls import call, settle, within
from tenure.runtime.resources.closer import (
    Caller,
    Entry,
    InThreads,
    RetryLater,
    close_entry,
    in_this_loop,
    log,
)
from tenure.runtime.resources.registry import Registry, Seconds
from tenure.runtime.resources.report import CleanupReport, Failure, now

CANCELLED = "Job cancellation requested"  # the reason of a cancellation that gives none


class CleanupCoordinator(Registry):
    """The resources of a job. They are closed once, and every call returns the same report.

    ``flush`` saves partial results before anything is closed. ``retry_later`` is called with the
    task and the arguments of a resource that was added with ``again`` and could not be closed. Both
    may be coroutine functions; plain functions are called in a thread of their own.
    """

    def __init__(
        self,
        graceful_timeout: Seconds = 5.0,
        *,
        flush: Callable[[], Any] | None = None,
        retry_later: RetryLater | None = None,
    ) -> None:
        super().__init__()
        self.graceful_timeout = duration(graceful_timeout).total_seconds()
        self._flush = flush
        self._retry_later = retry_later
        self._report: Future[CleanupReport] = Future()
        self._task: asyncio.Task[CleanupReport] | None = None
        self._updated_the_job = False

    def close(
        self,
        cancelled_by: str | None = None,
        reason: str | None = None,
        error: BaseException | None = None,
    ) -> CleanupReport:
        """Close everything, from plain code; ``error`` is the error that ended the job, if any."""
        self._refuse_in_a_loop()
        if self._is_first():
            threads = InThreads()
            work = self._close(threads, cancelled_by, reason, error)

            def run() -> None:
                settle(self._report, lambda: asyncio.run(work))
                threads.inbox.put(None)

            threading.Thread(target=run, name="tenure-cleanup", daemon=True).start()
            while (work_here := threads.inbox.get()) is not None:
                work_here()
        return self._report.result()

    async def aclose(
        self,
        cancelled_by: str | None = None,
        reason: str | None = None,
        error: BaseException | None = None,
    ) -> CleanupReport:
        """Close everything, from async code; it continues if the caller is cancelled."""
        if self._is_first():
            work = self._close(in_this_loop, cancelled_by, reason, error)
            self._task = asyncio.create_task(work, name="clean-up")
            self._task.add_done_callback(lambda task: settle(self._report, task.result))
        return await asyncio.shield(asyncio.wrap_future(self._report))

    async def cleanup(
        self, cancelled_by: str | None = None, reason: str | None = None
    ) -> CleanupReport:
        """Close everything because the job was cancelled."""
        reason = reason or CANCELLED
        return await self.aclose(cancelled_by, reason, asyncio.CancelledError(reason))

    async def cleanup_and_update_job(
        self,
        job_id: Any,
        job_repo: Any = None,
        cancelled_by: str | None = None,
        reason: str | None = None,
    ) -> CleanupReport:
        """Close everything, then ``job_repo.cancel(job_id, cancelled_by=..., reason=...)``.

        The job counts as updated unless that raises or returns False. Inside a worker, pass no
        repository: the worker writes the state itself when the code has ended.
        """
        report = await self.cleanup(cancelled_by, reason)
        if job_repo is not None and not self._updated_the_job:
            self._updated_the_job = True
            options = {
                "cancelled_by": report["cancelled_by"],
                "reason": report["cancellation_reason"],
            }
            try:
                cancel = partial(job_repo.cancel, job_id, **options)
                answer = await within(self.graceful_timeout, call(cancel))
            except Exception as error:  # noqa: BLE001
                log.warning("the job could not be updated after its clean-up: %r", error)
                report["failed"].append(Failure(name="job status", error=str(error) or repr(error)))
            else:
                report["job_status_updated"] = answer is not False
                report["job_cancelled_at"] = None if answer is False else now()
        return report

    async def _close(
        self,
        caller: Caller,
        cancelled_by: str | None,
        reason: str | None,
        error: BaseException | None,
    ) -> CleanupReport:
        started_at, started = now(), time.monotonic()
        failed = await self._save_partial_results()
        for entry in self._entries:
            entry.manager.ended_by = error
        ends = await asyncio.gather(
            *(
                close_entry(entry, self._timeout_of(entry), caller, self._retry_later)
                for entry in self._entries
            )
        )
        report = CleanupReport(
            cleanup_started_at=started_at,
            cleanup_completed_at=now(),
            cleanup_duration_seconds=round(time.monotonic() - started, 3),
            graceful_close_succeeded=[e.name for e in ends if not e.forced and not e.failure],
            force_closed=[end.name for end in ends if end.forced],
            total_resources=len(ends),
            cancelled_by=cancelled_by,
            cancellation_reason=reason,
            job_status_updated=False,
            job_cancelled_at=None,
            failed=failed + [end.failure for end in ends if end.failure],
        )
        log.info("clean-up: %s", report)
        return report

    async def _save_partial_results(self) -> list[Failure]:
        if self._flush is None:
            return []
        try:
            await within(self.graceful_timeout, call(self._flush))
        except Exception as error:  # noqa: BLE001
            log.warning("partial results could not be saved: %r", error)
            return [Failure(name="partial results", error=str(error) or repr(error))]
        return []

    def _timeout_of(self, entry: Entry) -> float:
        for timeout in (entry.timeout, entry.manager.close_timeout):
            if timeout is not None:
                return timeout
        return self.graceful_timeout

    def _is_first(self) -> bool:
        with self._lock:
            first, self._closing = not self._closing, True
        return first

    def _refuse_in_a_loop(self) -> None:
        # Playwright's plain API leaves a loop of its own that appears to run.
        if not any(entry.manager.same_thread for entry in self._entries):
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                return
            raise InputRefused("close() would block the event loop; await aclose() instead")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self.close(error=error)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        await self.aclose(error=error)
