"""Where the code of a job is right now: the stacks of its coroutines, tasks and threads.

Files, lines and names, and never a value: a stack is shown to people, and values may be secrets.
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

_MOST = 1000  # frames that are looked at: a recursion may be as deep as it likes


def stacks_of(attempt: LoopAttempt) -> tuple[Stack, ...]:
    """Of an attempt in an event loop, asked in the thread of the loop."""
    threads = stacks_of_threads(attempt.thread_names)
    own = _told(_chain(attempt.task.get_coro())) if attempt.task is not None else ()
    stacks = [Stack("its coroutine", own)]
    if threads and all(map(is_of_runner, own)):
        stacks = []  # a function in a thread, of which the loop only waits for the end
    for task in list(attempt.tasks)[:MAX_STACKS]:
        stacks.append(Stack(f"task {task.get_name()}", _told(_chain(task.get_coro()))))
    return (*stacks, *threads)[:MAX_STACKS]


def stacks_of_threads(named: Mapping[int, str]) -> tuple[Stack, ...]:
    """Of threads by their idents; those that have ended are left out."""
    frames = sys._current_frames()
    stacks = [(name, frames[ident]) for ident, name in named.items() if ident in frames]
    return tuple(Stack(name, _told(_calls(frame))) for name, frame in stacks[:MAX_STACKS])


def names_of(threads: Iterable[threading.Thread]) -> dict[int, str]:
    return {one.ident: f"thread {one.name}" for one in threads if one.ident is not None}


def _told(frames: list[FrameType]) -> tuple[Frame, ...]:
    return of_job([_frame(frame) for frame in frames[-_MOST:]])


def _frame(frame: FrameType) -> Frame:
    file, line = frame.f_code.co_filename, frame.f_lineno or 0
    try:
        code = linecache.getline(file, line, frame.f_globals)
    except Exception:  # noqa: BLE001 - loaders of all kinds give source, or do not
        code = ""
    return Frame(file, line, frame.f_code.co_qualname, code.strip())


def _calls(frame: FrameType | None) -> list[FrameType]:
    found = []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found[::-1]


def _chain(waiting: Any) -> list[FrameType]:
    """The frames of a coroutine that is suspended, and of what it waits for."""
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
