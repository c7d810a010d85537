"""The process runner: one plain function at a time, in the main thread of a process of its own.

A second thread speaks with the keeper, so that a stop is heard while the function runs. A runner
whose function was interrupted, left threads or processes behind, or changed the process in a way
that cannot be undone, is not used again.
"""

import contextvars
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from types import FrameType
from typing import Any, NoReturn

from tenure.errors import InputRefused
from tenure.observe import tracing
from tenure.runtime.control_exceptions import Interrupted
from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.guard.processes import DEAD, catches, stat
from tenure.runtime.messages import (
    Ask,
    AttemptEnded,
    AttemptReport,
    AttemptReports,
    Begin,
    Endings,
    FromKeeper,
    InspectAnswer,
    InspectRequest,
    Interrupt,
    Interrupting,
    Message,
    Quit,
    Ready,
    RequestAnswer,
    RunnerRequest,
    Start,
    Terminate,
    WornOut,
)
from tenure.runtime.runner import forks, inspection
from tenure.runtime.runner.answers import refusal_of
from tenure.runtime.runner.app_loader import App
from tenure.runtime.runner.attempt import PATIENCE, Attempt, current
from tenure.runtime.runner.endings import described, ended, raised, returned
from tenure.runtime.runner.environment import ProcessEnvironment
from tenure.runtime.runner.orphans import Orphans
from tenure.runtime.runner.output import capture_logging
from tenure.runtime.runner.ownership import Ownership
from tenure.runtime.runner.processes import end_all
from tenure.runtime.runner.threads import TICK, names_of
from tenure.runtime.runner.wrap_up import wrap_up
from tenure.runtime.shared_state import SharedState
from tenure.runtime.wire import PlainChannel

_LATEST = 250  # milliseconds until progress is said that was held back
_LAST_STEPS = 0.05  # seconds for threads that are about to end
_SECOND_LOOK = 0.01  # seconds, to tell threads that wait from those that run
_LOST = 70  # the exit code of a runner that cannot go on


class ProcessRunner:
    def __init__(
        self,
        app: App,
        channel: PlainChannel[FromKeeper],
        shared: SharedState,
        begin: Begin,
        ownership: Ownership,
    ) -> None:
        self.app = app
        self.tenant = begin.tenant
        self.worker = begin.worker
        self.folder = Path(begin.folder)
        self.settings: Mapping[str, Any] = begin.settings
        self._channel = channel
        self._shared = shared
        self._inbox: SimpleQueue[Attempt | None] = SimpleQueue()
        self._attempt: Attempt | None = None
        self._questions: dict[int, SimpleQueue[RequestAnswer]] = {}
        self._asked = 0
        self._wanted = False  # an interrupt was asked for in this attempt
        self._main = threading.main_thread().ident or 0
        self._ownership = ownership
        self._orphans = Orphans(ownership.processes.started)
        self._worn_out = ""  # why this process takes no further job
        self._threads_before: set[threading.Thread] = set()
        self._before: set[int] = set()  # processes of the app itself, since it was imported

    def run(self) -> int:
        capture_logging()
        signal.signal(signal.SIGUSR1, self._on_interrupt)
        threading.Thread(target=self._listen, name="wire", daemon=True).start()
        self._before = set(self._ownership.processes.of_jobs())
        self._surroundings = ProcessEnvironment()
        self._channel.send(Ready())
        try:
            while attempt := self._inbox.get():
                contextvars.copy_context().run(self._carry_out, attempt)
            tracing.flush()
        except BaseException:  # noqa: BLE001 - raised by what a job left behind, a signal perhaps
            self._die()
        os._exit(0)  # threads that will not end must not keep the process

    def _die(self) -> NoReturn:
        """End this process, as the doing of the attempt that is under way."""
        if attempt := self._attempt:
            self._shared.on_cpu = attempt.work.run
        os._exit(_LOST)

    # What the keeper says; in the other thread.

    def _listen(self) -> None:
        """Without this thread nobody would hear of a stop: when it ends, so does the runner."""
        try:
            self._serve_wire()
        except BaseException:  # noqa: BLE001
            traceback.print_exc(file=sys.__stderr__)
        finally:
            self._die()

    def _serve_wire(self) -> None:
        readable = select.poll()
        readable.register(self._channel.sock, select.POLLIN)
        is_settled = False  # nothing runs, and there is no child to wait for
        while True:
            is_idle = self._attempt is None
            if not readable.poll(None if is_idle and is_settled else _LATEST):
                if attempt := self._attempt:
                    attempt.say_the_rest()
                    self._look_after_main_thread()
                self._orphans.reap()
                is_settled = is_idle and not self._orphans.has_children
                continue
            is_settled = False
            self._orphans.reap()
            messages = self._channel.receive()
            if not messages:
                os._exit(0)
            for message in messages:
                self._hear(message)

    def _look_after_main_thread(self) -> None:
        """End the runner if the job has ended its main thread: nothing would end the attempt."""
        seen = stat(os.getpid())
        if seen is not None and seen.state in DEAD:
            self._die()

    def _hear(self, message: FromKeeper) -> None:
        attempt = self._attempt
        match message:
            case Start(jobs):
                [work] = jobs
                self._wanted = False
                self._attempt = Attempt(work, self)
                self._inbox.put(self._attempt)
            case Ask(run, orders) if attempt and attempt.work.run == run:
                attempt.ask(orders)
            case Interrupt(run):
                if attempt and attempt.work.run == run:
                    self._wanted = True
                    self._signal_main_thread(run)
                self._channel.send(Interrupting(run))
            case Terminate(run) if attempt and attempt.work.run == run:
                with suppress(RuntimeError):  # no thread can be started; the kill comes next
                    threading.Thread(target=self._terminate, args=(attempt,), daemon=True).start()
            case InspectRequest(run) if attempt and attempt.work.run == run:
                self._channel.send(
                    InspectAnswer(run, inspection.stacks_of_threads(self._threads()))
                )
            case RequestAnswer(question):
                if waiting := self._questions.pop(question, None):
                    waiting.put(message)
            case Quit():
                self._inbox.put(None)

    def _signal_main_thread(self, run: int) -> None:
        """Interrupt the function; not where its code took the handler away, or it would be killed
        without a word, or hear a signal that means something else to it."""
        handler = signal.getsignal(signal.SIGUSR1)
        if handler == self._on_interrupt and catches(os.getpid(), signal.SIGUSR1):
            self._shared.interrupt_target = run
            signal.pthread_kill(self._main, signal.SIGUSR1)

    def _threads(self) -> dict[int, str]:
        started = set(threading.enumerate()) - self._threads_before
        return {self._main: "its function", **inspection.names_of(started)}

    def _terminate(self, attempt: Attempt) -> None:
        end_all(self._started, attempt.close_timeout)

    def _started(self) -> list[int]:
        """Return the living processes that jobs started."""
        return [pid for pid in self._ownership.processes.of_jobs() if pid not in self._before]

    # The job; in the main thread.

    def _carry_out(self, attempt: Attempt) -> None:
        """Run one attempt; it ends, or this process does."""
        try:
            end = self._ending_of(attempt)
            if self._worn_out:
                self._channel.send(WornOut(self._worn_out))
            self._channel.send(Endings((end,)))
        except BaseException as problem:  # noqa: BLE001 - code of the job runs to the very end
            if forks.in_child:
                forks.leave()
            self._give_up(attempt, problem)
        else:
            if self._worn_out:
                self._inbox.put(None)

    def _give_up(self, attempt: Attempt, problem: BaseException) -> None:
        """Say that an attempt could not be wrapped up. The keeper then kills this process."""
        try:
            self._attempt = attempt
            told = described(problem)
            error = {**told, "message": f"its attempt could not be wrapped up: {told['message']}"}
            end = AttemptEnded(
                attempt.work.run,
                "committed" if attempt.committed else "failed",
                error=error,
                left="an attempt that could not be wrapped up",
            )
            self._channel.send(Endings((end,)))
        except BaseException:  # noqa: BLE001 - there is nobody left to tell
            self._die()

    def _ending_of(self, attempt: Attempt) -> AttemptEnded:
        current.set(attempt)
        self._surroundings.prepare()
        if tracing.is_on():
            attempt.trace()
        self._threads_before = set(threading.enumerate())
        began = boottime()
        shared, run = self._shared, attempt.work.run
        task = self.app.tasks.get(attempt.work.task)
        error: BaseException | None = None
        try:
            try:
                if task is None:
                    raise InputRefused(f"this worker has no task {attempt.work.task!r}")
                arguments = task.read_arguments(attempt.work.args)
                call = partial(task.function, *attempt.context_for(task), **arguments)
                shared.on_cpu = run
                if self._wanted:  # before there was anything to interrupt
                    attempt.interrupt()
                value = call()
            finally:
                if forks.in_child:
                    forks.leave()
                shared.on_cpu = 0
            attempt.over = True
            how = returned(attempt, value, task.write_result)
        except BaseException as problem:  # noqa: BLE001 - however it ends, it is told
            attempt.over = True
            shared.on_cpu = 0
            how, error = raised(attempt, problem), problem
        self._read_orders(attempt)
        cleanup = None
        if attempt.context or error:
            cleanup = forks.leaving(wrap_up, attempt, how, error)
        attempt.say_the_rest()
        attempt.say_what_was_dropped()
        self._attempt = None
        self._worn_out = self._surroundings.restore() or self._orphans.complaint
        left = self._left(attempt)
        if not left and (goes_on := self._threads_of(attempt, began)):
            if attempt.asked:
                left = ", ".join(goes_on)
            else:
                cleanup = {**(cleanup or {}), "left_behind": goes_on}
                attempt.say_what_goes_on(goes_on)
                self._worn_out = self._worn_out or f"a job left {', '.join(goes_on)} behind"
        end = ended(attempt, how, cleanup=cleanup, left=left)
        if left:
            tracing.flush()  # before it is known: who has something left is killed
        return end

    def _left(self, attempt: Attempt) -> str:
        """Name what must end with this process before the end of the attempt counts."""
        if attempt.delivered:
            return "a function that was interrupted"
        try:
            return "a process" if self._started() else ""
        except OSError as problem:  # it has used up the descriptors
            return f"what cannot be looked for ({problem.strerror})"

    def _threads_of(self, attempt: Attempt, began: float) -> list[str]:
        """Name the threads that an attempt has left, and its calls in pools.

        A pool that waits for calls is none of them, nor is a C thread that waits to be woken.
        """
        until = time.monotonic() + _LAST_STEPS
        while attempt.is_letting_go and time.monotonic() < until:
            time.sleep(0.001)
        try:
            strangers = self._ownership.threads.unknown()
            if strangers:
                time.sleep(_SECOND_LOOK)
                strangers = self._ownership.threads.unknown()
        except OSError as problem:  # it has used up the descriptors
            return [f"threads that cannot be looked for ({problem.strerror})"]
        unknown = [one for one, at in strangers.items() if at >= began - TICK]
        return [*names_of(attempt), *(f"thread {one} of unknown origin" for one in unknown)]

    def _read_orders(self, attempt: Attempt) -> None:
        """The thread at the wire does, as soon as the function lets it."""
        until = time.monotonic() + PATIENCE
        while attempt.orders_are_unread and time.monotonic() < until:
            time.sleep(0.001)

    def interrupt_now(self, attempt: Attempt) -> None:
        """Called when the last shield is lifted, in the main thread."""
        raise Interrupted(attempt.orders.reason if attempt.orders else "stopped")

    def _on_interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        attempt, shared = self._attempt, self._shared
        if (
            forks.in_child
            or attempt is None
            or shared.on_cpu == 0
            or shared.on_cpu != shared.interrupt_target
        ):
            return
        shared.interrupt_target = 0
        if not attempt.interrupted:
            attempt.note_asked()
            attempt.interrupt()

    # What the job says.

    def _send(self, message: Message) -> None:
        """An interrupt in the middle of a frame would leave half of it on the wire."""
        if forks.in_child:
            forks.refuse()
        attempt = self._attempt
        if attempt is None or threading.get_ident() != self._main:
            self._channel.send(message)
            return
        attempt.shield()
        try:
            self._channel.send(message)
        finally:
            attempt.unshield()

    def say(self, said: AttemptReport) -> None:
        self._send(AttemptReports((said,)))

    def say_soon(self, attempt: Attempt) -> None:
        """The thread at the wire does, when it has nothing else to do."""

    def ask(self, run: int, about: str, told: Any) -> Any:
        self._asked += 1
        waiting: SimpleQueue[RequestAnswer] = SimpleQueue()
        self._questions[self._asked] = waiting
        self._send(RunnerRequest(self._asked, run, about, told))
        answer = waiting.get()
        if answer.refusal is not None:
            raise refusal_of(self._attempt, about, answer.refusal)
        return answer.value

    async def aask(self, run: int, about: str, told: Any) -> Any:
        return self.ask(run, about, told)

    async def drain(self) -> None:
        return

    def in_background(self, work: Callable[[], Any]) -> Coroutine[Any, Any, Any] | None:
        work()
        return None
