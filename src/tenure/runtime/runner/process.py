"""The process runner: one plain function at a time, in the main thread of a process of its own.

A second thread talks to the keeper, so that a stop arrives while the function runs. An attempt
takes five steps: prepare the process, call the function, wrap up, restore the process, name what is
left. A runner whose function was interrupted, left threads or processes behind, or changed the
process in a way that cannot be undone is not used again.

The keeper may send several jobs at once. A job begins when its ticket is taken from a pipe; until
then the keeper can take it back.
"""

import contextvars
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from queue import SimpleQueue
from types import FrameType
from typing import Any, NoReturn

import msgspec

from tenure.domain.job import JSON
from tenure.observe import tracing
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
    ReportLost,
    RequestAnswer,
    RunnerRequest,
    Start,
    Terminate,
    WornOut,
)
from tenure.runtime.runner import forks, inspection
from tenure.runtime.runner.app_loader import App
from tenure.runtime.runner.attempt import PATIENCE, Attempt, current
from tenure.runtime.runner.endings import (
    complete,
    describe,
    ending_of_error,
    ending_of_result,
)
from tenure.runtime.runner.environment import ProcessEnvironment
from tenure.runtime.runner.link import CANNOT_SERVE, Link
from tenure.runtime.runner.observation import flush, observed, report_lost
from tenure.runtime.runner.orphans import Orphans
from tenure.runtime.runner.output import capture_logging
from tenure.runtime.runner.ownership import Ownership
from tenure.runtime.runner.process_endings import EndingBatch
from tenure.runtime.runner.process_leftovers import threads_of
from tenure.runtime.runner.processes import end_all
from tenure.runtime.runner.wrap_up import wrap_up
from tenure.runtime.shared_state import SharedState
from tenure.runtime.steps.effects import perform
from tenure.runtime.tickets import Tickets
from tenure.runtime.wire import PlainChannel

_LATEST = 250  # milliseconds until progress is reported that was held back
_ARRIVE_WITHIN = 30.0  # seconds, for a job whose ticket is here


class ProcessRunner(Link):
    def __init__(
        self,
        app: App,
        channel: PlainChannel[FromKeeper],
        shared: SharedState,
        tickets: Tickets,
        begin: Begin,
        ownership: Ownership,
    ) -> None:
        super().__init__(app, begin)
        self._channel = channel
        self._shared = shared
        self._tickets = tickets
        self._inbox: SimpleQueue[Attempt] = SimpleQueue()
        self._attempts: dict[int, Attempt] = {}  # by run: received, and not ended
        self._attempt: Attempt | None = None
        self._endings = EndingBatch(channel, shared)
        self._requests: dict[int, SimpleQueue[RequestAnswer]] = {}
        self._interrupts: set[int] = set()  # runs for which an interrupt was asked
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
        self._environment = ProcessEnvironment()
        self._channel.send(Ready())
        try:
            while not self._worn_out and (attempt := self._next()):
                contextvars.copy_context().run(self._run, attempt)
            flush()
        except BaseException:  # noqa: BLE001 - raised by what a job left behind, a signal perhaps
            self._die()
        os._exit(0)  # threads that will not end must not keep the process

    def _die(self) -> NoReturn:
        """End this process, and charge its death to the current attempt."""
        if attempt := self._attempt:
            self._shared.on_cpu = attempt.work.run
        os._exit(CANNOT_SERVE)

    def _next(self) -> Attempt | None:
        """Return the next attempt, after its ticket; None if none will follow."""
        run = self._tickets.take()
        if run is None:
            self._endings.send()
            run = self._tickets.wait()
        if not run:
            return None
        while True:
            attempt = self._inbox.get(timeout=_ARRIVE_WITHIN)
            if attempt.work.run == run:
                self._endings.send_before(attempt.work.task)
                return attempt
            self._attempts.pop(attempt.work.run, None)  # it was taken back

    # The thread that talks to the keeper.

    def _listen(self) -> None:
        """Serve the wire. When this thread ends, so does the runner: no stop would arrive."""
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
            is_idle = not self._attempts
            if not readable.poll(None if is_idle and is_settled else _LATEST):
                if attempt := self._attempt:
                    attempt.flush_progress()
                    self._check_main_thread()
                self._orphans.reap()
                is_settled = is_idle and not self._orphans.has_children
                continue
            is_settled = False
            self._orphans.reap()
            messages = self._channel.receive()
            if not messages:
                os._exit(0)
            for message in messages:
                self._receive(message)

    def _check_main_thread(self) -> None:
        """End the runner if the job has ended its main thread: nothing would end the attempt."""
        seen = stat(os.getpid())
        if seen is not None and seen.state in DEAD:
            self._die()

    def _receive(self, message: FromKeeper) -> None:
        attempt = self._attempt
        match message:
            case Start(jobs):
                for work in jobs:
                    received = self._attempts[work.run] = Attempt(work, self)
                    self._inbox.put(received)
            case Ask(run, orders) if run in self._attempts:
                self._attempts[run].ask_to_stop(orders)
            case Interrupt(run):
                if run in self._attempts:
                    self._interrupts.add(run)  # first: it may be about to begin
                    attempt = self._attempt
                    if attempt and attempt.work.run == run:
                        self._signal_main_thread(run)
                self._channel.send(Interrupting(run))
            case Terminate(run) if attempt and attempt.work.run == run:
                with suppress(RuntimeError):  # no thread can be started; the kill comes next
                    threading.Thread(target=self._terminate, args=(attempt,), daemon=True).start()
            case InspectRequest(run) if attempt and attempt.work.run == run:
                self._channel.send(
                    InspectAnswer(run, inspection.stacks_of_threads(self._threads()))
                )
            case RequestAnswer(request):
                if waiting := self._requests.pop(request, None):
                    waiting.put(message)
            case ReportLost(attempts):
                report_lost(attempts, self)
            case Quit():
                return  # the last ticket says the same to the main thread

    def _signal_main_thread(self, run: int) -> None:
        """Interrupt the function, unless its code replaced the handler: then the signal would kill
        it, or mean something else to it."""
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

    # The main thread.

    def _run(self, attempt: Attempt) -> None:
        """Run one attempt; it ends, or this process does."""
        began = time.monotonic_ns()
        self._shared.note_begun(attempt.work.run, began)
        self._attempt = attempt
        try:
            ended = self._ending_of(attempt)
            took = (time.monotonic_ns() - began) / 1e9
            ended = msgspec.structs.replace(ended, began=began / 1e9, took=took)
            if self._worn_out:
                self._channel.send(WornOut(self._worn_out))
            self._endings.add(attempt.work.task, ended, is_last=bool(self._worn_out or ended.left))
        except BaseException as problem:  # noqa: BLE001 - code of the job runs to the very end
            if forks.in_child:
                forks.leave()
            self._give_up(attempt, problem)
            _wait_for_death()
        if ended.left and not self._worn_out:
            _wait_for_death()

    def _ending_of(self, attempt: Attempt) -> AttemptEnded:
        began = self._prepare(attempt)
        ending, error = self._call(attempt)
        cleanup = self._wrap_up(attempt, ending, error)
        self._attempt = None
        self._attempts.pop(attempt.work.run, None)
        self._interrupts.discard(attempt.work.run)
        self._worn_out = self._environment.restore() or self._orphans.problem
        left = self._left(attempt)
        if not left and (threads := threads_of(attempt, began, self._ownership)):
            if attempt.asked:
                left = ", ".join(threads)
            else:
                cleanup = attempt.log_left_behind(threads, cleanup)
                self._worn_out = self._worn_out or f"a job left {', '.join(threads)} behind"
        ended = complete(attempt, ending, cleanup, left)
        if left:
            flush()  # first: a runner with something left is killed
        return ended

    def _prepare(self, attempt: Attempt) -> float:
        """Make the process as new for this attempt; return when it began."""
        current.set(attempt)
        self._environment.prepare()
        if tracing.is_on():
            attempt.trace()
        self._threads_before = set(threading.enumerate())
        return boottime()

    def _call(self, attempt: Attempt) -> tuple[AttemptEnded, BaseException | None]:
        shared = self._shared
        try:
            try:
                task, call = attempt.bind()
                shared.on_cpu = attempt.work.run
                if (
                    attempt.work.run in self._interrupts
                ):  # it came before there was anything to interrupt
                    attempt.interrupt()
                with observed(attempt):
                    value = call()
            finally:
                if forks.in_child:
                    forks.leave()
                shared.on_cpu = 0
            attempt.finished = True
            return perform(attempt, ending_of_result(attempt, value, task.write_result)), None
        except BaseException as problem:  # noqa: BLE001 - every end is reported
            attempt.finished = True
            shared.on_cpu = 0
            return ending_of_error(attempt, problem), problem

    def _wrap_up(
        self, attempt: Attempt, ending: AttemptEnded, error: BaseException | None
    ) -> Mapping[str, JSON] | None:
        until = time.monotonic() + PATIENCE
        while attempt.orders_are_unread and time.monotonic() < until:
            time.sleep(0.001)  # the thread at the wire reads them
        cleanup = None
        if attempt.context or error is not None:
            cleanup = forks.leaving(wrap_up, attempt, ending, error)
        attempt.flush()
        return cleanup

    def _give_up(self, attempt: Attempt, problem: BaseException) -> None:
        """Report that an attempt could not be wrapped up. The keeper then kills this process."""
        try:
            self._attempt = attempt
            error = describe(problem)
            message = f"its attempt could not be wrapped up: {error['message']}"
            ended = AttemptEnded(
                attempt.work.run,
                "committed" if attempt.committed else "failed",
                error={**error, "message": message},
                left="an attempt that could not be wrapped up",
            )
            self._endings.send()
            self._channel.send(Endings((ended,)))
        except BaseException:  # noqa: BLE001 - nothing else is left to try
            self._die()

    def _left(self, attempt: Attempt) -> str:
        """Name what must end with this process before the end of the attempt counts."""
        if attempt.delivered:
            return "a function that was interrupted"
        try:
            return "a process" if self._started() else ""
        except OSError as problem:  # no descriptor is left
            return f"what cannot be looked for ({problem.strerror})"

    def interrupt_now(self, attempt: Attempt) -> None:
        """Raise, in the main thread; the last shield may just have been lifted."""
        raise attempt.interruption()

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
            attempt.mark_asked()
            attempt.interrupt()

    # The link of the attempt.

    def _send(self, message: Message) -> None:
        """Send under a shield: an interrupt would leave half a frame on the wire."""
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

    def report(self, report: AttemptReport) -> None:
        self._send(AttemptReports((report,)))

    def request(self, run: int, name: str, arguments: Any) -> Any:
        number = next(self._requests_made)
        waiting: SimpleQueue[RequestAnswer] = SimpleQueue()
        self._requests[number] = waiting
        self._send(RunnerRequest(number, run, name, arguments))
        return self._value(waiting.get(), self._attempt, name)


def _wait_for_death() -> NoReturn:
    """Begin nothing more: the keeper kills this process, and what is left in it."""
    while True:
        time.sleep(3600)
