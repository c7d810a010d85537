"""The connection of a loop runner's attempts to the keeper."""

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from tenure.errors import InputRefused
from tenure.runtime.messages import (
    AttemptEnded,
    AttemptReport,
    AttemptReports,
    Begin,
    Endings,
    FromKeeper,
    Message,
    RequestAnswer,
    RunnerRequest,
)
from tenure.runtime.runner import forks
from tenure.runtime.runner.app_loader import App
from tenure.runtime.runner.attempt import Attempt, current
from tenure.runtime.runner.link import CANNOT_SERVE, Link
from tenure.runtime.runner.loop_attempt import LoopAttempt
from tenure.runtime.runner.owners import runner_context
from tenure.runtime.wire import Channel

_LATEST = 0.25  # seconds until progress is reported that was held back


class LoopLink(Link):
    """Gathers the reports of one turn of the loop, and passes answers back to attempts."""

    def __init__(
        self,
        app: App,
        begin: Begin,
        loop: asyncio.AbstractEventLoop,
        channel: Channel[FromKeeper],
        attempts: Mapping[int, LoopAttempt],
        before_endings: Callable[[], None],
    ) -> None:
        super().__init__(app, begin)
        self.is_sending = False  # an interrupt now would leave half a frame on the wire
        self._in_threads = begin.kind == "thread"
        self._loop = loop
        self._channel = channel
        self._attempts = attempts
        self._before_endings = before_endings  # may send a message that must precede them
        self._reports: list[AttemptReport] = []
        self._ended: list[AttemptEnded] = []
        self._flushing = False
        self._requests: dict[int, asyncio.Future[RequestAnswer]] = {}
        self._thread = threading.get_ident()
        self._context = runner_context()  # one flush serves all attempts

    def interrupt_now(self, attempt: Attempt) -> None:
        assert isinstance(attempt, LoopAttempt)
        if attempt.task is not None and not self._in_threads:
            self._loop.call_soon_threadsafe(attempt.task.cancel)

    def report(self, report: AttemptReport) -> None:
        if forks.in_child:
            forks.refuse()
        if threading.get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self.report, report)
            return
        before, self.is_sending = self.is_sending, True
        try:
            self._reports.append(report)
            self._flush_soon()
        finally:
            self.is_sending = before

    def report_soon(self, attempt: Attempt) -> None:
        if threading.get_ident() == self._thread:
            self._loop.call_later(_LATEST, attempt.flush_progress)
        else:
            self._loop.call_soon_threadsafe(self._loop.call_later, _LATEST, attempt.flush_progress)

    def is_in_loop(self) -> bool:
        return threading.get_ident() == self._thread and not self._in_threads

    def request(self, run: int, name: str, arguments: Any) -> Any:
        if forks.in_child:
            forks.refuse()
        if threading.get_ident() == self._thread:
            raise InputRefused(
                f"this call ({name}) would block the event loop; in a coroutine, await aflush, "
                f"aspawn or await_for, and write `async with` for blocks"
            )
        answer = asyncio.run_coroutine_threadsafe(self._answer_to(run, name, arguments), self._loop)
        return self._value(answer.result(), self._attempts.get(run), name)

    async def arequest(self, run: int, name: str, arguments: Any) -> Any:
        answering = self._answer_to(run, name, arguments)
        if threading.get_ident() != self._thread:  # in an event loop of the job's own
            waiting = asyncio.run_coroutine_threadsafe(answering, self._loop)
            answer = await asyncio.wrap_future(waiting)
        else:
            answer = await answering
        return self._value(answer, self._attempts.get(run), name)

    async def _answer_to(self, run: int, name: str, arguments: Any) -> RequestAnswer:
        if forks.in_child:
            forks.refuse()
        number = next(self._requests_made)
        waiting: asyncio.Future[RequestAnswer] = self._loop.create_future()
        self._requests[number] = waiting
        self.flush(RunnerRequest(number, run, name, arguments))
        return await waiting

    def answer(self, answer: RequestAnswer) -> None:
        waiting = self._requests.pop(answer.request, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    async def drain(self) -> None:
        self.flush()
        await self._channel.drain()

    def in_background(self, work: Callable[[], Any]) -> Coroutine[Any, Any, Any] | None:
        if threading.get_ident() != self._thread:
            work()
            return None
        doing = self._loop.run_in_executor(None, contextvars.copy_context().run, work)
        if isinstance(attempt := current.get(), LoopAttempt):
            attempt.writes.add(doing)
            doing.add_done_callback(attempt.writes.discard)

        async def done() -> None:
            await doing

        return done()

    def end(self, ended: AttemptEnded) -> None:
        """Send the ending of an attempt, with all others of the same turn."""
        self._ended.append(ended)
        self._flush_soon()

    def _flush_soon(self) -> None:
        if not self._flushing:
            self._loop.call_soon(self.flush, context=self._context)
            self._flushing = True

    def flush(self, *more: Message) -> None:
        before, self.is_sending = self.is_sending, True
        try:
            self._flushing = False
            self._send_gathered()
            for message in more:
                self._channel.send(message)
        finally:
            self.is_sending = before

    def _send_gathered(self) -> None:
        try:
            if self._reports:
                reports, self._reports = self._reports, []
                self._channel.send(AttemptReports(tuple(reports)))
            if self._ended:
                ended, self._ended = self._ended, []
                self._before_endings()
                self._channel.send(Endings(tuple(ended)))
        except BaseException:  # noqa: BLE001 - the messages are lost, and the keeper waits for them
            os._exit(CANNOT_SERVE)
