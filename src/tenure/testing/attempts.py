"""An attempt that runs in the process of a test: its link to its keeper, and its code."""

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any, TextIO

from tenure.control.task import Task
from tenure.domain.job import JSON
from tenure.runtime.control_exceptions import Waits
from tenure.runtime.messages import AttemptEnded, AttemptReport, Begin, Work
from tenure.runtime.runner.app_loader import App
from tenure.runtime.runner.attempt import Attempt, current
from tenure.runtime.runner.endings import complete, ending_of_error, ending_of_result
from tenure.runtime.runner.link import Link
from tenure.runtime.runner.output import JobLog, JobOutput
from tenure.runtime.runner.wrap_up import awrap_up, wrap_up
from tenure.runtime.steps.effects import aperform, perform
from tenure.runtime.temporary import remove
from tenure.testing.keepers import AttemptKeeper

# What ends a job. Everything else ends the test: an interrupt by the user, pytest.fail().
_OF_JOBS = (Exception, asyncio.CancelledError, Waits, SystemExit)
_POLL = 0.05  # seconds between two polls for a stop while a coroutine waits


class SandboxLink(Link):
    """Every report is recorded before the call that made it returns."""

    def __init__(self, app: App, begin: Begin, keeper: AttemptKeeper) -> None:
        super().__init__(app, begin)
        self.keeper = keeper
        self.attempt: SandboxAttempt | None = None

    def report(self, report: AttemptReport) -> None:
        self.keeper.report(report)
        self._after_call()

    def request(self, run: int, name: str, arguments: Any) -> Any:  # noqa: ARG002 - of a Link
        answer = self.keeper.request(name, arguments)
        self._after_call()
        return answer

    def is_in_loop(self) -> bool:
        """Tell whether the calling code must await instead of wait."""
        return self.attempt is not None and self.attempt.is_coroutine

    def interrupt_now(self, attempt: Attempt) -> None:
        assert isinstance(attempt, SandboxAttempt)
        if attempt.coroutine is None or attempt.coroutine is _current_task():
            raise attempt.interruption()
        attempt.coroutine.cancel()

    def _after_call(self) -> None:
        if self.keeper.kills:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.attempt is not None:
            self.attempt.poll_stop()


class SandboxAttempt(Attempt):
    """It polls for a stop whenever its code uses the context; in a coroutine also meanwhile."""

    link: SandboxLink
    coroutine: "asyncio.Task[Any] | None" = None

    @property
    def is_coroutine(self) -> bool:
        """Tell whether the calling code is its coroutine, or a task that this has created."""
        task = _current_task()
        return (
            task is not None
            and self.coroutine is not None
            and task.get_loop() is self.coroutine.get_loop()
        )

    error: BaseException | None = None  # that its code raised
    _interrupt_at: float | None = None

    def __init__(self, work: Work, link: SandboxLink) -> None:
        super().__init__(work, link)
        link.attempt = self
        self._thread = 0
        self._is_polling = False

    def enter(self) -> None:
        """Note the thread of its code: only there it can be interrupted."""
        self._thread = threading.get_ident()

    def poll_stop(self) -> None:
        """Pass on a stop that was requested."""
        if self.finished or self._is_polling or threading.get_ident() != self._thread:
            return
        self._is_polling = True
        try:
            if self.orders is None and (stop := self.link.keeper.stop()) is not None:
                self.ask_to_stop(stop.orders)
                if stop.may_interrupt:
                    self._interrupt_at = monotonic() + stop.ask_for
            if self._interrupt_at is not None and monotonic() >= self._interrupt_at:
                self._interrupt_at = None
                self.interrupt()
        finally:
            self._is_polling = False

    def acknowledge_stop(self) -> bool:
        self.poll_stop()
        return super().acknowledge_stop()

    def report_progress(self, progress: Mapping[str, JSON]) -> None:
        self._progress = progress
        self.report()


def run_plain(attempt: SandboxAttempt) -> AttemptEnded:
    """Run a function in this thread, with its hooks and the close of its resources."""
    with _current(attempt) as outputs:
        attempt.enter()
        error: BaseException | None = None
        try:
            task, call = attempt.bind()
            ending = perform(attempt, ending_of_result(attempt, call(), task.write_result))
        except _OF_JOBS as problem:
            ending, error = ending_of_error(attempt, problem), problem
        attempt.finished, attempt.error = True, error
        cleanup = wrap_up(attempt, ending, error)
        return _concluded(attempt, ending, cleanup, outputs)


async def run_coroutine(attempt: SandboxAttempt) -> AttemptEnded:
    """Run a coroutine in this event loop, with its hooks and the close of its resources."""
    with _current(attempt) as outputs:
        attempt.enter()
        error: BaseException | None = None
        try:
            task, call = attempt.bind()
            value = await _awaited(attempt, call)
            ending = await aperform(attempt, ending_of_result(attempt, value, task.write_result))
        except _OF_JOBS as problem:
            if isinstance(problem, asyncio.CancelledError) and not attempt.asked:
                raise  # the test itself is cancelled
            ending, error = ending_of_error(attempt, problem), problem
        attempt.finished, attempt.error = True, error
        cleanup = await awrap_up(attempt, ending, error)
        return _concluded(attempt, ending, cleanup, outputs)


def is_coroutine(task: Task[..., Any] | None) -> bool:
    """Tell whether a task runs in an event loop."""
    return task is not None and task.executor == "async"


def _current_task() -> "asyncio.Task[Any] | None":
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs here
        return None


async def _awaited(attempt: SandboxAttempt, call: Callable[[], Awaitable[Any]]) -> Any:
    """Run the coroutine in a task of its own, and poll for a stop until it ends."""

    async def code() -> Any:
        return await call()

    task = attempt.coroutine = asyncio.create_task(code())
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=_POLL)
            attempt.poll_stop()
    except BaseException:
        task.cancel()
        with suppress(BaseException):
            await task
        raise
    return task.result()


def _concluded(
    attempt: SandboxAttempt,
    ending: AttemptEnded,
    cleanup: Mapping[str, JSON] | None,
    outputs: "list[TeeOutput]",
) -> AttemptEnded:
    for output in outputs:
        output.finish(attempt)
    attempt.flush()
    folder = attempt.link.folder / str(attempt.work.run)
    if folder.exists():
        remove(folder)
    return complete(attempt, ending, cleanup)


@contextmanager
def _current(attempt: SandboxAttempt) -> "Iterator[list[TeeOutput]]":
    """Make it the current attempt, whose output and log records go to the job's log."""
    Path(attempt.link.folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    before = current.set(attempt)
    handler = JobLog()
    handler.addFilter(lambda _: current.get() is not None)
    handler.setFormatter(logging.Formatter("%(message)s"))
    root, streams = logging.getLogger(), (sys.stdout, sys.stderr)
    level = root.level
    root.addHandler(handler)
    root.setLevel(min(level, logging.INFO) if level else logging.INFO)
    outputs = [TeeOutput("stdout", sys.stdout), TeeOutput("stderr", sys.stderr)]
    sys.stdout, sys.stderr = outputs
    try:
        yield outputs
    finally:
        sys.stdout, sys.stderr = streams
        root.removeHandler(handler)
        root.setLevel(level)
        current.reset(before)


class TeeOutput(JobOutput):
    """Lines go to the job's log, and to the output of the test."""

    def __init__(self, name: str, beneath: TextIO) -> None:
        super().__init__(name, beneath)
        self._test_output = beneath

    def write(self, text: str) -> int:
        if current.get() is not None:
            self._test_output.write(text)
        return super().write(text)
