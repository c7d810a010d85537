"""The way from the attempts of a loop runner to their keeper."""

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
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
from tenure.runtime.runner.answers import refusal_of
from tenure.runtime.runner.app_loader import App
from tenure.runtime.runner.attempt import Attempt, current
from tenure.runtime.runner.loop_attempt import LoopAttempt
from tenure.runtime.runner.owners import runner_context
from tenure.runtime.wire import Channel

CANNOT_SERVE = 70  # the exit code of a runner that gives up
_LATEST = 0.25  # seconds until progress is said that was held back


class LoopLink:
    """Gathers what attempts say in one turn of the loop, and passes answers back to them."""

    def __init__(
        self,
        app: App,
        begin: Begin,
        loop: asyncio.AbstractEventLoop,
        channel: Channel[FromKeeper],
        attempts: Mapping[int, LoopAttempt],
    ) -> None:
        self.app = app
        self.tenant = begin.tenant
        self.worker = begin.worker
        self.folder = Path(begin.folder)
        self.settings: Mapping[str, Any] = begin.settings
        self.is_sending = False  # an interrupt now would leave half a frame on the wire
        self._in_threads = begin.kind == "thread"
        self._loop = loop
        self._channel = channel
        self._attempts = attempts
        self._said: list[AttemptReport] = []
        self._ended: list[AttemptEnded] = []
        self._flushing = False
        self._questions: dict[int, asyncio.Future[RequestAnswer]] = {}
        self._asked = 0
        self._thread = threading.get_ident()
        self._context = runner_context()  # what is sent is sent for all

    def interrupt_now(self, attempt: Attempt) -> None:
        assert isinstance(attempt, LoopAttempt)
        if attempt.task is not None and not self._in_threads:
            self._loop.call_soon_threadsafe(attempt.task.cancel)

    def say(self, said: AttemptReport) -> None:
        if forks.in_child:
            forks.refuse()
        if threading.get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self.say, said)
            return
        before, self.is_sending = self.is_sending, True
        try:
            self._said.append(said)
            self._flush_soon()
        finally:
            self.is_sending = before

    def say_soon(self, attempt: Attempt) -> None:
        if threading.get_ident() == self._thread:
            self._loop.call_later(_LATEST, attempt.say_the_rest)
        else:
            self._loop.call_soon_threadsafe(self._loop.call_later, _LATEST, attempt.say_the_rest)

    def ask(self, run: int, about: str, told: Any) -> Any:
        if forks.in_child:
            forks.refuse()
        if threading.get_ident() == self._thread:
            raise InputRefused(
                f"in a coroutine, await the twin of this: its name begins with a ({about})"
            )
        question = self._question(run, about, told)
        return self._value_of(
            asyncio.run_coroutine_threadsafe(question, self._loop).result(), run, about
        )

    async def aask(self, run: int, about: str, told: Any) -> Any:
        return self._value_of(await self._question(run, about, told), run, about)

    async def _question(self, run: int, about: str, told: Any) -> RequestAnswer:
        if forks.in_child:
            forks.refuse()
        self._asked += 1
        number = self._asked
        waiting: asyncio.Future[RequestAnswer] = self._loop.create_future()
        self._questions[number] = waiting
        self.flush(RunnerRequest(number, run, about, told))
        return await waiting

    def _value_of(self, answer: RequestAnswer, run: int, about: str) -> Any:
        if answer.refusal is not None:
            raise refusal_of(self._attempts.get(run), about, answer.refusal)
        return answer.value

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

    def end(self, end: AttemptEnded) -> None:
        """Tell how an attempt ended, with all others that end in the same turn."""
        self._ended.append(end)
        self._flush_soon()

    def answer(self, answer: RequestAnswer) -> None:
        waiting = self._questions.pop(answer.request, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

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
            if self._said:
                said, self._said = self._said, []
                self._channel.send(AttemptReports(tuple(said)))
            if self._ended:
                done, self._ended = self._ended, []
                self._channel.send(Endings(tuple(done)))
        except BaseException:  # noqa: BLE001 - what was to be sent is lost, and somebody waits for it
            os._exit(CANNOT_SERVE)
