"""The loop runner: many jobs at once in one event loop.

Coroutines run in the loop itself; functions with ``executor="thread"`` run in its threads. An
attempt takes five steps: call its code, check that the runner is still sound, wrap up, end what it
started, report the ending. An attempt that used nothing but its coroutine skips the middle ones.
"""

import asyncio
import contextvars
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from types import FrameType
from typing import Any, NoReturn

from tenure.domain.job import JSON
from tenure.observe import tracing
from tenure.runtime.garbage import collect_rarely
from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.messages import (
    Ask,
    AttemptEnded,
    Begin,
    FromKeeper,
    InspectAnswer,
    InspectRequest,
    Interrupt,
    Interrupting,
    Quit,
    Ready,
    ReportLost,
    RequestAnswer,
    Start,
    Terminate,
    Work,
    WornOut,
)
from tenure.runtime.runner import forks, inspection
from tenure.runtime.runner.app_loader import App
from tenure.runtime.runner.attempt import PATIENCE, current
from tenure.runtime.runner.endings import complete, ending_of_error, ending_of_result
from tenure.runtime.runner.fitness import Fitness
from tenure.runtime.runner.link import CANNOT_SERVE
from tenure.runtime.runner.loop_attempt import LoopAttempt
from tenure.runtime.runner.loop_link import LoopLink
from tenure.runtime.runner.observation import flush, observed, report_lost
from tenure.runtime.runner.on_cpu import OnCpu, TaskOnCpu
from tenure.runtime.runner.output import JobOutput, capture_logging
from tenure.runtime.runner.ownership import Ownership
from tenure.runtime.runner.remainder import Remainder
from tenure.runtime.runner.wrap_up import awrap_up, wrap_up
from tenure.runtime.shared_state import SharedState
from tenure.runtime.steps.effects import aperform, perform
from tenure.runtime.wire import Channel, from_keeper

_log = logging.getLogger("tenure.worker")

_TICK = 0.25  # seconds between two stamps of a loop that has work
_CHECK_EVERY = 4  # ticks
_SYMPTOMS = (RuntimeError, OSError, MemoryError, ImportError)  # of a runner that may be unfit
_OVERDUE = 30.0  # seconds that the end of an attempt may exceed all its time limits


class LoopRunner:
    """One event loop, one tenant."""

    def __init__(self, app: App, shared: SharedState, begin: Begin, ownership: Ownership) -> None:
        self._app = app
        self._begin = begin
        self._shared = shared
        self._words = shared.words
        self._in_threads = begin.kind == "thread"
        self._attempts: dict[int, LoopAttempt] = {}
        self._disconnected = asyncio.Event()
        self._thread = threading.get_ident()
        self._outputs = (JobOutput("stdout", sys.stdout), JobOutput("stderr", sys.stderr))
        self._ownership = ownership
        self._is_worn_out = False
        self._is_check_due = False  # before endings are sent
        self._ticks = 0
        self._recursion_limit = sys.getrecursionlimit()
        self._loop_answers = True

    async def run(self, sock: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        threads = max(int(self._begin.settings["threads"]), 32)
        self._loop.set_default_executor(ThreadPoolExecutor(threads, thread_name_prefix="job"))
        self._loop.set_task_factory(self._new_task)
        self._watch()
        self._fitness = Fitness(self._loop, self._ownership.processes.started)
        self._remainder = Remainder(self._loop, self._ownership, self._is_internal)
        self._channel = Channel(from_keeper, self._receive, self._disconnected.set)
        self._link = LoopLink(
            self._app, self._begin, self._loop, self._channel, self._attempts, self._check_ended
        )
        await self._channel.open(sock)
        self._channel.send(Ready())
        while not self._disconnected.is_set():
            try:
                await self._disconnected.wait()
            except asyncio.CancelledError:
                _log.warning("a job cancelled the runner's own task; the runner continues")

    def _is_internal(self, bound_to: Any) -> bool:
        """Tell whether a callback bound to this object is the runner's own."""
        return isinstance(bound_to, LoopRunner | LoopLink | LoopAttempt | Remainder) or (
            isinstance(bound_to, asyncio.BaseTransport) and bound_to.get_protocol() is self._channel
        )

    def _watch(self) -> None:
        sys.stdout, sys.stderr = self._outputs
        capture_logging()
        os.register_at_fork(after_in_child=self._become_child)
        signal.signal(signal.SIGUSR1, self._on_interrupt)

    def _become_child(self) -> None:
        """Run no other job in a process that a callback of a job forked."""
        if threading.get_ident() == self._thread:
            self._loop.stop()
            for neighbour in getattr(self._loop, "_ready", ()):
                neighbour.cancel()

    def _receive(self, message: FromKeeper) -> None:
        match message:
            case Start(jobs):
                now = boottime()
                for work in jobs:
                    self._start(work, now)
            case Ask(run, orders):
                if attempt := self._attempts.get(run):
                    attempt.ask_to_stop(orders)
            case Interrupt(run):
                if attempt := self._attempts.get(run):
                    attempt.interrupt()
                self._channel.send(Interrupting(run))
            case Terminate(run):
                if (attempt := self._attempts.get(run)) and attempt.pids:
                    end = self._remainder.end_processes(attempt, attempt.close_timeout)
                    attempt.terminating = asyncio.Task(end, loop=self._loop)
            case InspectRequest(run):
                if attempt := self._attempts.get(run):
                    self._link.flush(
                        InspectAnswer(run, inspection.stacks_of(attempt), tuple(attempt.pids))
                    )
            case RequestAnswer():
                self._link.answer(message)
            case ReportLost(attempts):
                report_lost(attempts, self._link)
            case Quit():
                self._disconnected.set()

    def _start(self, work: Work, now: float) -> None:
        attempt = LoopAttempt(work, self._link, now)
        self._attempts[work.run] = attempt
        if not self._shared.stamp:
            self._tick()
        attempt.task = asyncio.Task(self._run(attempt), loop=self._loop)

    async def _run(self, attempt: LoopAttempt) -> None:
        current.set(attempt)
        try:
            if tracing.is_on():
                attempt.trace()
            error: BaseException | None = None
            self._restore_task_factory()  # the last job may have replaced it
            try:
                task, call = attempt.bind()
                if self._in_threads:
                    ending, cleanup = await self._call_in_thread(attempt, call, task.write_result)
                    await self._finish(attempt, ending, cleanup)
                    return
                with observed(attempt):
                    value = await OnCpu(call(), self._words, attempt.work.run)
                ending = await aperform(
                    attempt, ending_of_result(attempt, value, task.write_result)
                )
            except BaseException as problem:  # noqa: BLE001 - every end is reported
                ending, error = ending_of_error(attempt, problem), problem
            attempt.mark_finished()
            self._check_after(error)
            if attempt.is_plain and not (error is not None and self._has_hooks(attempt)):
                self._report(attempt, complete(attempt, ending))
            else:
                # In a task of its own: a cancel on its way to the job's must not hit the clean-up.
                attempt.task = asyncio.Task(self._wrap_up(attempt, ending, error), loop=self._loop)
        except BaseException as problem:  # noqa: BLE001 - every attempt ends, or its runner does
            self._end_by_force(attempt, problem)

    async def _call_in_thread(
        self, attempt: LoopAttempt, call: Callable[[], Any], write: Callable[[Any], Any]
    ) -> tuple[AttemptEnded, Mapping[str, JSON] | None]:
        """Call and wrap up in one thread: some resources close only where they were made."""

        def work() -> tuple[AttemptEnded, Mapping[str, JSON] | None]:
            error: BaseException | None = None
            attempt.in_thread = True
            try:
                with observed(attempt):
                    value = forks.leaving(call)
                ending = perform(attempt, ending_of_result(attempt, value, write))
            except BaseException as problem:  # noqa: BLE001 - every end is reported
                ending, error = ending_of_error(attempt, problem), problem
            attempt.mark_finished()
            return ending, wrap_up(attempt, ending, error)

        outcome = await self._loop.run_in_executor(None, contextvars.copy_context().run, work)
        attempt.in_thread = False
        return outcome

    def _check_after(self, error: BaseException | None) -> None:
        """Wear the runner out if this error shows that it cannot serve."""
        if isinstance(error, BrokenExecutor):
            self._wear_out(f"a pool that its jobs share is broken: {error}")
        elif isinstance(error, _SYMPTOMS) and (problem := self._fitness.problem()):
            self._wear_out(problem)

    def _has_hooks(self, attempt: LoopAttempt) -> bool:
        task = self._app.tasks.get(attempt.work.task)
        return task is not None and bool(task.hooks)

    async def _wrap_up(
        self, attempt: LoopAttempt, ending: AttemptEnded, error: BaseException | None
    ) -> None:
        try:
            until = time.monotonic() + PATIENCE
            while attempt.orders_are_unread and time.monotonic() < until:  # noqa: ASYNC110 - the wire tells
                await asyncio.sleep(0)
            # Whatever a hook does to the runner is charged to the job.
            wrapping_up = OnCpu(awrap_up(attempt, ending, error), self._words, attempt.work.run)
            await self._finish(attempt, ending, await wrapping_up)
        except BaseException as problem:  # noqa: BLE001 - every attempt ends, or its runner does
            self._end_by_force(attempt, problem)

    async def _finish(
        self, attempt: LoopAttempt, ending: AttemptEnded, cleanup: Mapping[str, JSON] | None
    ) -> None:
        """End what the attempt started, then report its ending."""
        for output in self._outputs:
            output.finish(attempt)
        left: list[str] = []
        if attempt.asked:
            left = await self._remainder.end(attempt)
        elif left_behind := await self._remainder.release(attempt):
            cleanup = attempt.log_left_behind(left_behind, cleanup)
            self._fitness.note_left(attempt)
        attempt.flush()
        self._report(attempt, complete(attempt, ending, cleanup, ", ".join(left)))

    def _report(self, attempt: LoopAttempt, ended: AttemptEnded) -> None:
        self._is_check_due |= attempt.asked or self._fitness.is_suspicious
        if attempt.pids:
            self._ownership.processes.forget(attempt)
        self._link.end(ended)
        del self._attempts[attempt.work.run]

    def _end_by_force(self, attempt: LoopAttempt, problem: BaseException) -> None:
        """End an attempt whose end was disturbed, or else the whole runner."""
        run = attempt.work.run
        if run not in self._attempts:
            return
        try:
            left = f"its end was disturbed: {type(problem).__name__}"
            error = {"type": "tenure.EndDisturbed", "message": left}
            failed = AttemptEnded(run, "failed", error=error)
            ending = AttemptEnded(run, "stopped") if attempt.asked else failed
            self._report(attempt, complete(attempt, ending, left=left))
        except BaseException:  # noqa: BLE001 - nothing else is left to try
            self._give_up(run)

    def _give_up(self, run: int) -> NoReturn:
        """End this process, and charge its death to this run; 0 if the culprit is unknown."""
        self._words[0] = run
        os._exit(CANNOT_SERVE)

    def _on_interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        """Interrupt the job that holds the loop, if it is still the one that the keeper saw."""
        shared = self._shared
        run = shared.on_cpu
        if forks.in_child or run == 0 or run != shared.interrupt_target:
            return
        if self._link.is_sending:
            return  # the target stays set: the keeper repeats the signal
        shared.interrupt_target = 0
        attempt = self._attempts.get(run)
        if attempt is None or attempt.finished or attempt.interrupted:
            return
        attempt.interrupted = True
        attempt.mark_asked()
        if attempt.shields:
            return
        attempt.acknowledge_stop()
        # Raised in a task that the job started, it has not reached the job's own task yet.
        attempt.delivered = asyncio.current_task(self._loop) is attempt.task
        raise attempt.interruption()

    def _new_task(
        self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any
    ) -> asyncio.Task[Any]:
        attempt = current.get()
        if attempt is None:
            return asyncio.Task(coroutine, loop=loop, **options)
        assert isinstance(attempt, LoopAttempt)
        stepped = TaskOnCpu(coroutine, self._words, attempt.work.run)
        task: asyncio.Task[Any] = asyncio.Task(stepped, loop=loop, **options)
        attempt.tasks.add(task)
        task.add_done_callback(attempt.tasks.discard)
        return task

    def _restore_task_factory(self) -> None:
        if self._loop.get_task_factory() != self._new_task:
            self._loop.set_task_factory(self._new_task)

    def _tick(self) -> None:
        """Show in the shared state that the loop turns, as long as it has work."""
        sys.setrecursionlimit(self._recursion_limit)
        self._shared.stamp = time.monotonic_ns() if self._attempts else 0
        if not self._attempts:
            return
        if not self._loop_answers:
            self._give_up(0)  # timers run, but nothing else does
        self._loop_answers = False
        self._loop.call_soon(self._answer)
        self._loop.call_later(_TICK, self._tick)
        self._ticks += 1
        if self._ticks % _CHECK_EVERY == 0:
            self._check()

    def _answer(self) -> None:
        self._loop_answers = True

    def _check(self) -> None:
        """Check that the runner can still serve, and that no end takes too long."""
        if problem := self._fitness.problem():
            self._wear_out(problem)
        self._restore_task_factory()
        now = time.monotonic()
        for attempt in list(self._attempts.values()):
            limit = attempt.hook_timeout + 2 * attempt.close_timeout + _OVERDUE
            if attempt.finished and now - attempt.finished_at > limit:
                self._end_by_force(attempt, TimeoutError())
            elif attempt.in_thread and not attempt.borrowed:
                if attempt.lost_thread:
                    self._end_by_force(attempt, RuntimeError())
                attempt.lost_thread = True  # unless its end is already on its way

    def _check_ended(self) -> None:
        """Check once for all attempts whose endings are sent next that the runner can serve."""
        if self._is_check_due:
            self._is_check_due = False
            if problem := self._fitness.problem():
                self._wear_out(problem)

    def _wear_out(self, reason: str) -> None:
        if not self._is_worn_out:
            self._is_worn_out = True
            self._link.flush(WornOut(reason))


def run_loop(
    app: App, sock: socket.socket, shared: SharedState, begin: Begin, ownership: Ownership
) -> int:
    collect_rarely()
    loop = asyncio.SelectorEventLoop()  # its callbacks can be inspected
    asyncio.set_event_loop(loop)
    main = loop.create_task(_main(LoopRunner(app, shared, begin, ownership), sock))
    main.add_done_callback(lambda _: loop.stop())
    while not main.done():
        try:
            forks.leaving(loop.run_forever)
        except (SystemExit, KeyboardInterrupt):
            _log.warning("a callback of a job tried to exit; the other jobs continue")
        else:
            _log.warning("a job stopped the event loop; it continues for the other jobs")
    return main.result()


async def _main(runner: LoopRunner, sock: socket.socket) -> NoReturn:
    await runner.run(sock)
    await asyncio.to_thread(flush)
    os._exit(0)  # threads that will not end must not keep the process
