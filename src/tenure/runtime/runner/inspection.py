"""The current stacks of a job's coroutines, tasks and threads.

They hold files, lines and names, never values: people see stacks, and values may be secret.
"""

import linecache
import sys
import threading
from collections.abc import Iterable, Mapping
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType
from typing import Any

from tenure.domain.inspection import MAX_STACKS, Frame, Stack
from tenure.runtime.runner.loop_attempt import LoopAttempt
from tenure.runtime.runner.on_cpu import OnCpu
from tenure.runtime.stacks import is_of_runner, of_job

_MAX_FRAMES = 1000  # read from a stack: a recursion may be deep


def stacks_of(attempt: LoopAttempt) -> tuple[Stack, ...]:
    """Return the stacks of an attempt in an event loop. Call it in the thread of the loop."""
    threads = stacks_of_threads(attempt.thread_names)
    own = _frames(_chain(attempt.task.get_coro())) if attempt.task is not None else ()
    stacks = [Stack("its coroutine", own)]
    if threads and all(map(is_of_runner, own)):
        stacks = []  # the function runs in a thread, and the loop only waits for its end
    for task in list(attempt.tasks)[:MAX_STACKS]:
        stacks.append(Stack(f"task {task.get_name()}", _frames(_chain(task.get_coro()))))
    return (*stacks, *threads)[:MAX_STACKS]


def stacks_of_threads(named: Mapping[int, str]) -> tuple[Stack, ...]:
    """Return the stacks of threads by their idents, without threads that have ended."""
    frames = sys._current_frames()
    stacks = [(name, frames[ident]) for ident, name in named.items() if ident in frames]
    return tuple(Stack(name, _frames(_calls(frame))) for name, frame in stacks[:MAX_STACKS])


def names_of(threads: Iterable[threading.Thread]) -> dict[int, str]:
    return {thread.ident: f"thread {thread.name}" for thread in threads if thread.ident is not None}


def _frames(frames: list[FrameType]) -> tuple[Frame, ...]:
    return of_job([_frame(frame) for frame in frames[-_MAX_FRAMES:]])


def _frame(frame: FrameType) -> Frame:
    file, line = frame.f_code.co_filename, frame.f_lineno or 0
    try:
        code = linecache.getline(file, line, frame.f_globals)
    except Exception:  # noqa: BLE001 - loaders of any kind may fail
        code = ""
    return Frame(file, line, frame.f_code.co_qualname, code.strip())


def _calls(frame: FrameType | None) -> list[FrameType]:
    found = []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found[::-1]


def _chain(waiting: Any) -> list[FrameType]:
    """Return the frames of a suspended coroutine, and of those that it waits for."""
    found = []
    while waiting is not None:
        match waiting:
            case OnCpu():
                waiting = waiting.coroutine
                continue
            case CoroutineType():
                frame, waiting = waiting.cr_frame, waiting.cr_await
            case GeneratorType():
                frame, waiting = waiting.gi_frame, waiting.gi_yieldfrom
            case AsyncGeneratorType():
                frame, waiting = waiting.ag_frame, waiting.ag_await
            case _:
                break
        if frame is not None:
            found.append(frame)
    return found
